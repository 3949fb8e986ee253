import { PlatformApiError } from '../../client/index.ts'
import type { Command } from '../command.ts'
import { outlookOf, statusLine } from '../outlook.ts'
import { printable, rendered } from '../output.ts'
import {
  ONE,
  PLACES,
  type Prepared,
  prepare,
  type RouteBelow,
  routesBelow,
  send,
  sendBelow,
  WHERE,
} from '../requests.ts'

export const describe: Command = {
  name: 'describe',
  summary: 'Show one thing with how it does, how it is reached, and what to do next',
  positionals: ONE,
  options: WHERE,
  details: `${PLACES}\nSecrets are not shown: what gives them is named at the end.`,
  async run(input, context) {
    const prepared = await prepare('get', input, context)
    const record = await send(prepared)
    const below = routesBelow(prepared.target, 'GET').filter(({ words }) => isPlain(words))
    const { out } = context.terminal
    out(`${input.positionals.join(' ')}: ${printable(statusLine(record))}\n\n${rendered(record, 'table')}`)
    for (const route of below.filter(({ operation }) => operation.isData !== true && operation.paged !== true)) {
      const shown = await readable(prepared, route)
      if (shown !== undefined) out(`\n${route.words}\n${indented(rendered(shown, 'table'))}`)
    }
    out(`\nNext\n${indented(nextSteps(input.positionals, record, below).join('\n'))}`)
  },
}

/** One word behind the thing, such as `health`: neither a parameter nor something deeper, such as what lists offer. */
const isPlain = (words: string) => !/[{/]/.test(words) && words !== 'config'

/** What the caller may not see, or what is not there yet, is left out: it is not what was asked for. */
async function readable(prepared: Prepared, route: RouteBelow): Promise<unknown> {
  try {
    return await sendBelow(prepared, route)
  } catch (error) {
    if (error instanceof PlatformApiError && error.status !== 401) return undefined
    throw error
  }
}

/** Commands that make sense now. */
export function nextSteps(positionals: readonly string[], record: unknown, below: readonly RouteBelow[]): string[] {
  const [kind = '', name = ''] = positionals
  const outlook = outlookOf(record)
  const words = new Set(below.map(({ words: own }) => own))
  const secrets = below.filter(
    ({ operation }) => operation.isData === true && !/logs|files|editor/.test(operation.path),
  )
  return [
    ...(outlook === 'underWay' ? [`freehold wait ${kind} ${name}`] : []),
    ...(outlook === 'failed'
      ? ['Mend what the message says; docs/reference/troubleshooting.md explains each phase.']
      : []),
    ...(words.has('logs') ? [`freehold logs ${kind} ${name}`] : []),
    ...(words.has('scale') ? [`freehold scale ${kind} ${name} REPLICAS --wait`] : []),
    ...secrets.map(({ words: own }) => `freehold read ${kind} ${name} ${own}`),
    `freehold delete ${kind} ${name}`,
  ]
}

const indented = (text: string) =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n')
    .replace(/\n*$/, '\n')
