import { messageOf } from '../core/errors.ts'

/** What the process ends with (docs/cli.md). */
export const EXIT = {
  ok: 0,
  /** The platform refused: for want of a right, or because of what is there. */
  refused: 1,
  /** What was given is wrong, whoever says so: the command line, a manifest or a body. */
  usage: 2,
  notSignedIn: 3,
  network: 4,
  /** A file on this machine: not set up yet, unreadable, or open to others. */
  local: 5,
  /** What was waited for has failed, or is gone. */
  failed: 6,
  /** The time to wait is up, and it is still under way. */
  overdue: 7,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** What an answer of REST, or of the API server, comes to. Nobody can make a request work that says something impossible. */
export function exitOfAnswer(status: number): ExitCode {
  if (status === 401) return EXIT.notSignedIn
  return status === 400 ? EXIT.usage : EXIT.refused
}

/** An end of a command that is not the platform's refusal: one sentence for the person, and what the process ends with. */
export class CommandFailure extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode, message: string, options?: { cause: unknown }) {
    super(message, options)
    this.name = 'CommandFailure'
    this.exitCode = exitCode
  }
}

export const usage = (message: string) => new CommandFailure(EXIT.usage, message)
export const notSignedIn = (message: string) => new CommandFailure(EXIT.notSignedIn, message)
export const localTrouble = (message: string, cause?: unknown) =>
  new CommandFailure(EXIT.local, cause === undefined ? message : `${message} (${messageOf(cause)})`)

/** The result for each; what is wrong with any of them is told at once. @throws CommandFailure with a line for each */
export function eachOrRefusals<Given, Made>(given: readonly Given[], make: (one: Given, at: number) => Made): Made[] {
  const made: Made[] = []
  const refusals: CommandFailure[] = []
  for (const [at, one] of given.entries()) {
    try {
      made.push(make(one, at))
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error
      refusals.push(error)
    }
  }
  const [first] = refusals
  if (first === undefined) return made
  throw new CommandFailure(first.exitCode, refusals.map(({ message }) => message).join('\n'), { cause: first })
}
