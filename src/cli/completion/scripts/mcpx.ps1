# Completion of mcpx for PowerShell.
Register-ArgumentCompleter -Native -CommandName @('mcpx', 'mcpx.exe') -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $length = $cursorPosition - $commandAst.Extent.StartOffset
    $text = $commandAst.Extent.Text
    $line = if ($length -gt $text.Length) { "$text " } else { $text.Substring(0, $length) }
    $encoded = [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($line))
    $program = $commandAst.CommandElements[0].Extent.Text.Trim('"', "'")
    $previous = [Console]::OutputEncoding
    try {
        [Console]::OutputEncoding = [Text.Encoding]::UTF8
        & $program __complete powershell $encoded 2>$null | ForEach-Object {
            $value, $shown, $doc = $_.Split([char]9)
            if (-not $doc) { $doc = $shown }
            [System.Management.Automation.CompletionResult]::new($value, $shown, 'ParameterValue', $doc)
        }
    } finally {
        [Console]::OutputEncoding = $previous
    }
}
