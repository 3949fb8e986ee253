import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { messageOf } from '../core/errors.ts'
import type { Collection } from './collection.ts'
import type { CommandWords } from './collections.ts'
import { usage } from './failure.ts'
import type { ClientPaths, Environment } from './files.ts'

export type Option = {
  readonly long: string
  readonly short?: string
  /** Placeholder for the value in the help; absent for a switch. */
  readonly value?: string
  /** The value if none is given: at the end, or before another option. */
  readonly valueIfAbsent?: string
  /** May be repeated. */
  readonly isRepeatable?: true
  readonly choices?: readonly string[]
  /** A choice that takes a value itself: `jsonpath=...`. */
  readonly openChoice?: string
  /** Validates the value before the command has any effect. @throws CommandFailure (usage) */
  readonly check?: (value: string) => void
  readonly summary: string
}

export type Positional = {
  readonly name: string
  readonly isOptional?: true
  /** For the last positional: may be repeated. */
  readonly isMany?: true
  /** What completion suggests. */
  readonly offers?: 'kinds' | 'names' | 'commands' | readonly string[]
}

export interface Terminal {
  out(text: string): void
  /** For binary data, such as an archive. */
  outBytes(bytes: Uint8Array): void
  err(text: string): void
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean
  readInput(): Promise<string>
  /** Reads without echo, or the first line of stdin if that is not a terminal. */
  readPassword(prompt: string): Promise<string>
  /** Prompts the user; undefined without a terminal. */
  readonly ask: ((question: string) => Promise<string>) | undefined
  /** Undefined if no browser is likely: no display, or a remote shell. */
  readonly openBrowser: ((url: string) => void) | undefined
}

/** Everything outside the process that a command may use. */
export type Context = {
  readonly environment: Environment
  readonly paths: ClientPaths
  /** How to start this program again: kubectl calls it for tokens. */
  readonly program: readonly [string, ...string[]]
  readonly terminal: Terminal
  readonly collections: readonly Collection[]
  readonly signal: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** A parsed command line. */
export type Input = {
  readonly command: CommandWords
  readonly positionals: readonly string[]
  text(option: string): string | undefined
  all(option: string): readonly string[]
  has(option: string): boolean
}

export type Command = {
  readonly name: string
  readonly summary: string
  readonly positionals?: readonly Positional[]
  readonly options?: readonly Option[]
  /** Further paragraphs of the help text. */
  readonly details?: string
  /** Returns more specific help for the given arguments; undefined for that of the command. */
  readonly helpFor?: (input: Input, context: Context) => Promise<string | undefined>
  readonly run: (input: Input, context: Context) => Promise<void>
}

const HELP: Option = { long: 'help', short: 'h', summary: 'Show this' }

/** Returns the options of a command, with `--help`. */
export const optionsOf = (command: Command): readonly Option[] => [...(command.options ?? []), HELP]

/**
 * Parses the arguments after the command's name.
 *
 * @throws CommandFailure (usage) for unknown options, missing values, invalid choices, and too few or too many
 *   arguments
 */
export function parseCommandLine(command: Command, words: readonly string[]): Input {
  const options = optionsOf(command)
  const config: ParseArgsOptionsConfig = Object.fromEntries(
    options.map(({ long, short, value, isRepeatable }) => [
      long,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        multiple: isRepeatable === true,
        ...(short !== undefined && { short }),
      },
    ]),
  )
  let parsed: { values: Record<string, unknown>; positionals: string[] }
  try {
    const args = withDefaultValues(words, options).map((word) =>
      NEGATIVE_NUMBER.test(word) ? `${NEGATIVE_MARK}${word}` : word,
    )
    parsed = parseArgs({ args, options: config, allowPositionals: true, strict: true })
  } catch (error) {
    throw usage(`${messageOf(error).split('. ')[0]}. See \`freehold ${command.name} --help\`.`)
  }
  const { values } = parsed
  const positionals = parsed.positionals.map((word) => word.replace(NEGATIVE_MARK, ''))
  const input: Input = {
    command: { name: command.name, positionals: wordsOf(command) },
    positionals,
    text: (name) => (typeof values[name] === 'string' ? values[name] : undefined),
    all: (name) => (Array.isArray(values[name]) ? (values[name] as string[]) : []),
    has: (name) => values[name] === true,
  }
  if (!input.has('help')) checkInput(command, input)
  return input
}

/** parseArgs takes a negative number for an option; no option is a number. */
const NEGATIVE_NUMBER = /^-\d+$/
const NEGATIVE_MARK = '\0'

/** Adds the default value to options that are given without one. */
function withDefaultValues(words: readonly string[], options: readonly Option[]): string[] {
  const end = words.indexOf('--')
  return words.flatMap((word, index) => {
    const option = options.find(({ long }) => word === `--${long}`)
    const next = words[index + 1]
    const isAlone = next === undefined || next.startsWith('-')
    if (option?.valueIfAbsent === undefined || !isAlone || (end >= 0 && index > end)) return [word]
    return [`${word}=${option.valueIfAbsent}`]
  })
}

/** Returns the choices of an option as text; undefined if it takes any value. */
export function choicesOf({ choices, openChoice }: Option): string | undefined {
  return choices === undefined ? undefined : [...choices, ...(openChoice ? [`${openChoice}=...`] : [])].join(', ')
}

function checkInput(command: Command, input: Input): void {
  for (const option of optionsOf(command)) {
    const { long, choices, openChoice } = option
    const value = input.text(long)
    if (value !== undefined) option.check?.(value)
    const isOpen = openChoice !== undefined && value?.startsWith(`${openChoice}=`) === true
    if (choices !== undefined && value !== undefined && !choices.includes(value) && !isOpen) {
      throw usage(`--${long} must be one of ${choicesOf(option)}, not "${value}".`)
    }
  }
  const all = command.positionals ?? []
  const minimum = all.filter(({ isOptional }) => isOptional !== true).length
  const maximum = all.at(-1)?.isMany === true ? Number.POSITIVE_INFINITY : all.length
  const { length } = input.positionals
  if (length < minimum) throw usage(`${all[length]?.name} is missing. Usage: ${usageLine(command)}`)
  if (length > maximum)
    throw usage(`"${input.positionals[maximum]}" is one word too many. Usage: ${usageLine(command)}`)
}

const wordsOf = ({ positionals = [] }: Command): string[] =>
  positionals.map(({ name, isOptional, isMany }) => {
    const shown = isMany ? `${name} ...` : name
    return isOptional ? `[${shown}]` : shown
  })

export function usageLine(command: Command): string {
  const { name, options = [] } = command
  return ['freehold', name, ...wordsOf(command), ...(options.length > 0 ? ['[options]'] : [])].join(' ')
}
