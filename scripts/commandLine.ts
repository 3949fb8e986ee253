import { readFile, stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'

/** Invalid words on the command line. The message is for the user and is followed by the usage. */
export class UsageError extends Error {}

/** Not a mistake: the user asked for the usage. */
export class HelpAsked extends Error {}

type Flags = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>
type Words<Options extends Flags> = ReturnType<
  typeof parseArgs<{ options: Options; strict: true; allowPositionals: true }>
>

/** @throws UsageError for an unknown flag, one that npm took, or a stray word where none is taken; HelpAsked for --help */
export function parsed<const Options extends Flags>(
  words: readonly string[],
  usage: string,
  options: Options,
  allowPositionals = false,
  environment: NodeJS.ProcessEnv = process.env,
): Words<Options> {
  const end = words.indexOf('--')
  const ownArgs = end < 0 ? words : words.slice(0, end)
  if (ownArgs.includes('--help') || ownArgs.includes('-h')) throw new HelpAsked(usage)
  const takenByNpm = Object.keys(options).find((flag) => isTakenByNpm(flag, options[flag]?.type, environment))
  if (takenByNpm !== undefined)
    throw new UsageError(`npm took --${takenByNpm} for itself: write it after "--".\n${usage}`)
  try {
    return parseArgs({ args: [...words], options, strict: true, allowPositionals }) as Words<Options>
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n${usage}`)
  }
}

/** `npm run up --fresh` keeps the flag as a setting of npm and passes nothing on; only the environment shows it. */
function isTakenByNpm(flag: string, type: string | undefined, environment: NodeJS.ProcessEnv): boolean {
  const value = environment[`npm_config_${flag.replaceAll('-', '_')}`]
  // npm has settings of its own, such as git, which people may have set.
  return type === 'boolean' ? value === 'true' || value === '' : value !== undefined && value !== ''
}

/**
 * The words of this process. It ends here if they are wrong, or ask for the usage.
 *
 * @param names the words that are no flags; none is taken if absent
 */
export function ownWords<const Options extends Flags>(
  usage: string,
  options: Options,
  names: readonly string[] = [],
): Words<Options> {
  try {
    const words = parsed(process.argv.slice(2), usage, options, true)
    const unknown = words.positionals.find((word) => !names.includes(word))
    if (unknown !== undefined) throw new UsageError(`Unexpected argument '${unknown}'\n${usage}`)
    return words
  } catch (error) {
    endWith(error)
    process.exit()
  }
}

/** @throws UsageError for what is no whole number from 1 to `most` */
export function wholeNumber(flag: string, text: unknown, max: number, usage: string): number {
  const value = /^\d+$/.test(String(text)) ? Number(text) : 0
  if (value < 1 || value > max) {
    throw new UsageError(`${flag} must be a whole number from 1 to ${max}, not "${text}".\n${usage}`)
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

/** @returns whether the folder is there. @throws UsageError naming the flag, where something else has its name */
export async function isFolder(flag: string, path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && !found.isDirectory()) throw new UsageError(`${flag} names ${path}, which is no folder.`)
  return found !== undefined
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
