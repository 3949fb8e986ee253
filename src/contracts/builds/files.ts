import { tryParseJson } from '../../core/tryParseJson.ts'
import { toSingleLine } from './messageText.ts'
import type { BuildFailure } from './progress.ts'

/** The part of a source that is inspected to find out how to build it. */
export type SourceFiles = {
  /** Paths of files and, with a trailing slash, folders: those in the root and one level below. */
  readonly paths: ReadonlySet<string>
  /** Undefined if the path does not exist, is not a plain file, or is longer than we read. */
  text(path: string): string | undefined
}

/** Characters that the kubelet and the API server keep of a message, with room for escaped quotes. */
const MAX_REASON_CHARACTERS = 900

/** Why nothing is built: the source or the request must change. One line, whatever text of the source it contains. */
export class BuildRefusal extends Error {
  readonly failure: BuildFailure

  constructor(failure: BuildFailure, message: string) {
    super(toSingleLine(message, MAX_REASON_CHARACTERS))
    this.failure = failure
  }
}

export const nothingToBuild = (message: string) => new BuildRefusal('NothingToBuild', message)

export const firstExistingPath = (files: SourceFiles, ...paths: readonly string[]) =>
  paths.find((path) => files.paths.has(path))

/** @throws BuildRefusal naming the file */
export function parseJsonFile(files: SourceFiles, path: string): Readonly<Record<string, unknown>> {
  const text = files.text(path)
  if (text === undefined && files.paths.has(path)) throw nothingToBuild(`${path} is too long to be read.`)
  if (text === undefined) return {}
  const read = tryParseJson(text)
  if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as Record<string, unknown>
  throw nothingToBuild(`${path} is not a JSON object.`)
}

/** Returns the field at this path of an object, if it is a non-empty text. */
export function nonEmptyStringAt(value: unknown, ...keys: readonly string[]): string | undefined {
  const found = keys.reduce<unknown>(
    (object, key) =>
      typeof object === 'object' && object !== null ? (object as Record<string, unknown>)[key] : undefined,
    value,
  )
  return typeof found === 'string' && found !== '' ? found : undefined
}

/** Returns what the group of a pattern first matches in a file. */
export function matchInFile(files: SourceFiles, path: string, pattern: RegExp): string | undefined {
  return pattern.exec(files.text(path) ?? '')?.[1]?.trim()
}

/** The command of `web` in a Procfile. */
export const procfileWebCommand = (files: SourceFiles) => matchInFile(files, 'Procfile', /^web:[ \t]*(.+)$/m)
