import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

/** Wrong words on the command line: the message is for the user, with the usage behind it. */
export class UsageError extends Error {}

/** No mistake: the usage is what was asked for. */
export class HelpAsked extends Error {}

type Flags = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>
type Words<Options extends Flags> = ReturnType<
  typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>
>

/** @throws UsageError for an unknown flag, or a stray word where none is taken; HelpAsked for --help */
export function parsed<const Options extends Flags>(
  words: readonly string[],
  usage: string,
  options: Options,
  allowPositionals = false,
): Words<Options> {
  const end = words.indexOf('--')
  const own = end < 0 ? words : words.slice(0, end)
  if (own.includes('--help') || own.includes('-h')) throw new HelpAsked(usage)
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

const TROUBLE: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'you may not read',
}

/** @throws UsageError naming the flag and its file, where it cannot be read */
export async function readableFile(flag: string, path: string): Promise<void> {
  try {
    await readFile(path)
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new UsageError(`${flag} names ${path}, which ${TROUBLE[code] ?? `cannot be read (${code})`}.`)
  }
}

/** Says what went wrong, and ends the process with status 2 for wrong words, or else 1; 0 for the usage that was asked for. */
export function endWith(error: unknown): void {
  if (error instanceof HelpAsked) {
    process.stdout.write(`${error.message}\n`)
    return
  }
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}
