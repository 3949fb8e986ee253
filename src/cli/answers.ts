import type { RawAnswer } from '../client/index.ts'
import { isRecord } from '../core/isRecord.ts'
import { pluralize } from '../core/pluralize.ts'
import type { Context, Input } from './command.ts'
import { CommandFailure, EXIT, usage } from './failure.ts'
import { printable } from './output.ts'
import { isForPeople, show } from './session.ts'

/** Returns the form of an answer by its media type. Without one, it is taken as JSON. */
export function answerFormat({ headers }: Pick<RawAnswer, 'headers'>): 'json' | 'text' | 'bytes' {
  const media = mediaOf(headers)
  if (media === '' || /[/+]json$/.test(media)) return 'json'
  return media.startsWith('text/') ? 'text' : 'bytes'
}

const mediaOf = (headers: Headers) => (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''

/** The platform marks secrets as `no-store`: keys, secret values, tokens. */
export const isSecret = ({ headers }: Pick<RawAnswer, 'headers'>): boolean =>
  /\bno-store\b/.test(headers.get('cache-control') ?? '')

/** Parses the answer; undefined if it has no body. @throws CommandFailure if it is not JSON */
export function parseJsonAnswer(answer: RawAnswer): unknown {
  if (answer.text === '') return undefined
  try {
    if (answerFormat(answer) === 'json') return JSON.parse(answer.text)
  } catch {
    // Reported below.
  }
  const media = mediaOf(answer.headers)
  const mediaType = printable(media === '' ? 'something' : media)
  throw new CommandFailure(
    EXIT.refused,
    `The platform answered with ${mediaType} where JSON was expected; \`freehold call\` shows answers as they come.`,
  )
}

/**
 * Shows an answer: JSON in the requested format, text and bytes unchanged.
 *
 * @throws CommandFailure (usage) for bytes on a terminal, or a record format for text or bytes
 */
export function showAnswer(answer: RawAnswer, input: Input, context: Context): void {
  const { terminal } = context
  const form = answerFormat(answer)
  const media = printable(mediaOf(answer.headers))
  if (form === 'json') showJson(parseJsonAnswer(answer), input, context)
  else if (input.text('output') !== undefined) throw usage(`The answer is ${media}: --output is for records.`)
  else if (form === 'text') terminal.out(answer.text)
  else if (terminal.isTerminal) throw usage(`The answer is ${media}, which is not for a terminal: add \`> FILE\`.`)
  else terminal.outBytes(answer.bytes)
}

type Page = { readonly items: readonly unknown[]; readonly pagination?: { readonly totalItems?: number } }

/** Whether the value is a page: items, and nothing else but pagination. */
const isPage = (value: unknown): value is Page =>
  isRecord(value) &&
  Array.isArray(value.items) &&
  Object.keys(value).every((key) => ['items', 'pagination'].includes(key))

/** Shows only the items of a page to people, and with `--output name`. */
function showJson(value: unknown, input: Input, context: Context): void {
  const isRead = isForPeople(input, context)
  if (!isPage(value) || !(isRead || input.text('output') === 'name')) {
    show(value, input, context)
    return
  }
  const { items, pagination: { totalItems = items.length } = {} } = value
  show(items, input, context)
  if (!isRead) return
  if (totalItems === 0) context.terminal.err('No items found.\n')
  else if (totalItems > items.length) context.terminal.err(`${items.length} of ${pluralize(totalItems, 'item')}.\n`)
}
