#compdef mcpx
# Completion of mcpx for zsh.
_mcpx() {
  local -a finished finished_docs open open_docs
  local kind value doc
  while IFS=$'\t' read -r kind value doc; do
    if [[ $kind == open ]]; then
      open+=("$value")
      open_docs+=("$value${doc:+  -- $doc}")
    else
      finished+=("$value")
      finished_docs+=("$value${doc:+  -- $doc}")
    fi
  done < <("${(Q)words[1]}" __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)
  local -i shown=1
  (( $#finished )) && compadd -l -d finished_docs -a finished && shown=0
  (( $#open )) && compadd -l -S '' -d open_docs -a open && shown=0
  return shown
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _mcpx "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _mcpx mcpx
fi
