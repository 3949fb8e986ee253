import { messageOf } from '../core/errors.ts'

/** Exit codes (docs/cli.md). */
export const EXIT = {
  ok: 0,
  /** The platform refused: for lack of permission, or because of the state of the resource. */
  refused: 1,
  /** Invalid input, whoever detected it: the command line, a manifest or a body. */
  usage: 2,
  notSignedIn: 3,
  network: 4,
  /** A local file: not set up yet, unreadable, or readable by others. */
  local: 5,
  /** The awaited resource failed, or is gone. */
  failed: 6,
  /** The timeout passed while the operation was still in progress. */
  overdue: 7,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Maps a status of REST or of the API server to an exit code. 400 means that the input can never work. */
export function exitCodeForStatus(status: number): ExitCode {
  if (status === 401) return EXIT.notSignedIn
  return status === 400 ? EXIT.usage : EXIT.refused
}

/** A failure with a message for the user and an exit code, other than a refusal by the platform. */
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
export const localFailure = (message: string, cause?: unknown) =>
  new CommandFailure(EXIT.local, cause === undefined ? message : `${message} (${messageOf(cause)})`)

/** Maps each item, and reports all failures together. @throws CommandFailure with a line per failure */
export function mapOrFailTogether<Given, Made>(
  items: readonly Given[],
  make: (item: Given, at: number) => Made,
): Made[] {
  const results: Made[] = []
  const refusals: CommandFailure[] = []
  for (const [at, item] of items.entries()) {
    try {
      results.push(make(item, at))
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error
      refusals.push(error)
    }
  }
  const [first] = refusals
  if (first === undefined) return results
  throw new CommandFailure(first.exitCode, refusals.map(({ message }) => message).join('\n'), { cause: first })
}
