import { parseArgs } from 'node:util'

/** Wrong words on the command line: the message is for the user, with the usage behind it. */
export class UsageError extends Error {}

type Flags = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>
type Words<Options extends Flags> = ReturnType<
  typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>
>

/** @throws UsageError for an unknown flag, or a stray word where none is taken */
export function parsed<const Options extends Flags>(
  words: readonly string[],
  usage: string,
  options: Options,
  allowPositionals = false,
): Words<Options> {
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals }) as Words<Options>
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`)
  }
}

/** @throws UsageError for what is no whole number from 1 to `most` */
export function wholeNumber(flag: string, text: unknown, most: number, usage: string): number {
  const value = /^\d+$/.test(String(text)) ? Number(text) : 0
  if (value < 1 || value > most) {
    throw new UsageError(`${flag} must be a whole number from 1 to ${most}, not "${text}".\n${usage}`)
  }
  return value
}

/** Says what went wrong, and ends the process with status 2 for wrong words, or else 1. */
export function endWith(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
