import { type Command, choicesOf, type Option, optionsOf, usageLine } from './command.ts'
import { table } from './output.ts'

export function overview(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }) => [`  ${name}`, summary])
  return `The command-line client of the Freehold platform.\n\nUsage: freehold COMMAND [arguments]\n\n${table(rows)}\n\`freehold COMMAND --help\` says more of each.\n`
}

export function helpOf(command: Command): string {
  const { summary, details } = command
  const rows = optionsOf(command).map((option) => [`  ${flagsOf(option)}`, meaningOf(option)])
  const more = details === undefined ? '' : `\n${details}\n`
  return `${summary}.\n\nUsage: ${usageLine(command)}\n\n${table(rows)}${more}`
}

/** An option as it is typed, in columns. */
export function flagsOf({ long, short, value, isRepeatable, valueIfAbsent }: Option): string {
  const shortOption = short === undefined ? '    ' : `-${short}, `
  return `${shortOption}--${long}${value === undefined ? '' : valueIfAbsent === undefined ? ` ${value}` : ` [${value}]`}${isRepeatable ? ' ...' : ''}`
}

export function meaningOf(option: Option): string {
  const all = choicesOf(option)
  return all === undefined ? option.summary : `${option.summary}: ${all}`
}
