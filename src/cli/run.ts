import { suggestBoundaryId } from './boundaryNames.ts'
import { type Context, type Input, parseCommandLine } from './command.ts'
import { COMMANDS, findCommand } from './commands/index.ts'
import { explainStaleDefault } from './defaults.ts'
import { describeFailure } from './describeFailure.ts'
import { EXIT, type ExitCode } from './failure.ts'
import { helpOf, overview } from './help.ts'

/**
 * Runs one command line. Turns every failure into lines on stderr and an exit code.
 *
 * @param words without `node` and the script
 */
export async function run(words: readonly string[], context: Context): Promise<ExitCode> {
  const { terminal } = context
  const [name, ...rest] = words
  if (name === undefined || name === '--help' || name === '-h') {
    terminal[name === undefined ? 'err' : 'out'](overview(COMMANDS))
    return name === undefined ? EXIT.usage : EXIT.ok
  }
  let read: Input | undefined
  try {
    const command = findCommand(name === '--version' || name === '-v' ? 'version' : name)
    const input = parseCommandLine(command, rest)
    read = input
    if (input.has('help')) terminal.out((await command.helpFor?.(input, context)) ?? helpOf(command))
    else await command.run(input, context)
    return EXIT.ok
  } catch (error) {
    if (context.signal.aborted) return EXIT.interrupted
    const { lines, exitCode } = describeFailure(error)
    // A hint only: a failure while looking for it is ignored.
    const place = read && (await explainPlaceProblem(error, read, context).catch(() => undefined))
    for (const line of place === undefined ? lines : [...lines, place]) terminal.err(`${line}\n`)
    return exitCode
  }
}

/** Looks for a cause in the place: a boundary given by display name, or a default that no longer exists. */
const explainPlaceProblem = async (error: unknown, input: Input, context: Context) =>
  (await suggestBoundaryId(error, input, context)) ?? explainStaleDefault(error, input, context)
