import type { Argument, Command, Option } from 'commander';

/** Shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

const suggestions = new WeakMap<Argument | Option, readonly string[]>();

/** Adds words as suggestions; other words stay allowed. The values of an option may be a comma-separated list. */
export function suggesting<T extends Argument | Option>(one: T, words: readonly string[]): T {
  suggestions.set(one, words);
  return one;
}

/**
 * Candidates for the last of `words` (the words after `hc`; the last word may be empty): commands, options, or the
 * values of an option or an argument. Empty if files or free text are expected.
 */
export function candidates(program: Command, words: readonly string[]): string[] {
  const begun = words.at(-1) ?? '';
  let command = program;
  let wanted: Option | undefined;
  let position = 0;
  for (const word of words.slice(0, -1)) {
    if (wanted) wanted = undefined;
    else if (word.startsWith('-')) {
      const option = optionsOf(command).find(({ long, short }) => long === word || short === word);
      if (option?.required) wanted = option;
    } else {
      const found = command.commands.find((one) => one.name() === word);
      if (found) [command, position] = [found, 0];
      else position++;
    }
  }
  const argument = command.registeredArguments[position];
  const all = wanted
    ? (wanted.argChoices ?? listed(suggestions.get(wanted) ?? [], begun))
    : begun.startsWith('-')
      ? optionsOf(command).flatMap(({ long }) => long ?? [])
      : [
          ...command.commands.map((one) => one.name()).filter((name) => !name.startsWith('_')),
          ...((argument && suggestions.get(argument)) ?? []),
        ];
  return [...new Set(all)].filter((one) => one.startsWith(begun)).sort();
}

/** Appends each word that a comma-separated list does not contain yet. */
function listed(words: readonly string[], begun: string): string[] {
  const there = begun.slice(0, begun.lastIndexOf(',') + 1);
  return words.filter((word) => !there.split(',').includes(word)).map((word) => there + word);
}

/** The options of a command, of its default command, and of its parent commands. */
function optionsOf(command: Command): Option[] {
  const all: Option[] = [];
  for (let one: Command | null = command; one; one = one.parent)
    all.push(...one.createHelp().visibleOptions(one));
  const [only] = command.commands;
  if (command.parent && command.commands.length === 1 && only) {
    all.push(...only.createHelp().visibleOptions(only));
  }
  return all;
}

/** Script that completes `hc` in a shell. `run`: the words that start hc. */
export function completionScript(shell: Shell, run: readonly string[]): string {
  const start = run.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
  switch (shell) {
    case 'bash':
      return `# Completion of hc for bash: source <(hc completion bash)
_hc_completion() {
  local IFS=$'\\n'
  COMPREPLY=($(${start} __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _hc_completion hc
`;
    case 'zsh':
      return `# Completion of hc for zsh: source <(hc completion zsh)
_hc_completion() {
  local -a found
  found=("\${(@f)$(${start} __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${found[1]}" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _hc_completion hc
`;
    case 'fish':
      return `# Completion of hc for fish: hc completion fish | source
function __hc_completion
  set -l words (commandline -opc) (commandline -ct)
  set -l found (${start} __complete -- $words[2..-1] 2>/dev/null)
  if test -n "$found[1]"
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c hc -f -a '(__hc_completion)'
`;
  }
}
