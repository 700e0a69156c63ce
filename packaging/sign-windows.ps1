# Signs an executable with Authenticode: sign-windows.ps1 <file>. CERTIFICATE is a .pfx in base64, CERTIFICATE_PASSWORD its password.
param([Parameter(Mandatory)][string]$File)
$ErrorActionPreference = 'Stop'
$Pfx = Join-Path ([IO.Path]::GetTempPath()) "$([Guid]::NewGuid()).pfx"
try {
  [IO.File]::WriteAllBytes($Pfx, [Convert]::FromBase64String($env:CERTIFICATE))
  $Tool = Get-ChildItem 'C:\Program Files (x86)\Windows Kits\10\bin\*\x64\signtool.exe' | Sort-Object FullName | Select-Object -Last 1
  & $Tool.FullName sign /fd SHA256 /td SHA256 /tr http://timestamp.digicert.com /f $Pfx /p $env:CERTIFICATE_PASSWORD $File
  if ($LASTEXITCODE -ne 0) { throw 'signtool failed' }
  & $Tool.FullName verify /pa $File
  if ($LASTEXITCODE -ne 0) { throw 'the signature is not valid' }
} finally {
  Remove-Item -Force -LiteralPath $Pfx -ErrorAction SilentlyContinue
}
