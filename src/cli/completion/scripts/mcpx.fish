# Completion of mcpx for fish.
function __mcpx_complete
    set -l words (commandline -opc)
    $words[1] __complete fish $words[2..-1] (commandline -ct) 2>/dev/null
end
complete -c mcpx -f -k -a '(__mcpx_complete)'
