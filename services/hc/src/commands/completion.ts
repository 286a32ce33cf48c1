import { Argument, type Command } from 'commander';
import { candidates, completionScript, type Shell, shells } from '../completion.ts';
import type { Session } from '../session.ts';

/** `completion`, and the hidden command that its scripts call. */
export function addCompletion(program: Command, session: Session): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .description('print a script that completes hc in a shell')
    .addHelpText(
      'after',
      `
hc must be the name by which you call it: a command, a function, or (in bash and fish) an alias.

Examples:
  $ source <(hc completion bash)
  $ source <(hc completion zsh)
  $ hc completion fish | source
`,
    )
    .action((shell: Shell) =>
      session.terminal.out(completionScript(shell, [process.execPath, session.main])),
    );

  program
    .command('__complete [words...]', { hidden: true })
    .action((words: string[]) => session.terminal.out(lines(candidates(program, words))));
}

function lines(words: readonly string[]): string {
  return words.map((word) => `${word}\n`).join('');
}
