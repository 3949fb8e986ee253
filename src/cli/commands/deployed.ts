import { pathOf } from '../../client/index.ts'
import type { Command, Input } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { ONE, PLACES, type Prepared, prepare, routesBelow, send, sendBelow, WHERE } from '../requests.ts'
import { OUTPUT, show } from '../session.ts'
import { pairsOf } from '../text.ts'
import { WAITING, waitFor } from '../waiting.ts'

/** The address that everybody reaches it at. */
export const open: Command = {
  name: 'open',
  summary: 'Open the public address of an app or a site',
  positionals: ONE,
  options: WHERE,
  details: `${PLACES}\nWithout a browser the address is printed.`,
  async run(input, context) {
    const record = await send(await prepare('get', input, context))
    const { publicUrl } = (record ?? {}) as { publicUrl?: string | null }
    if (!publicUrl) throw new CommandFailure(EXIT.failed, `${input.positionals.join(' ')} has no public address yet.`)
    const { terminal } = context
    if (terminal.openBrowser === undefined || !terminal.isTerminal) terminal.out(`${publicUrl}\n`)
    else terminal.openBrowser(publicUrl)
  },
}

const onlyOne = (input: Input): Input => ({ ...input, positionals: input.positionals.slice(0, 2) })

/** Without a build: what was served before is served again. */
export const rollback: Command = {
  name: 'rollback',
  summary: 'Serve an earlier revision again',
  positionals: [...ONE, { name: 'NUMBER' }],
  options: [...WHERE, ...WAITING, OUTPUT],
  details: `${PLACES}\nNUMBER is that of a revision in the record: freehold rollback app shop 3 --wait`,
  async run(input, context) {
    const number = input.positionals[2] ?? ''
    if (!/^[1-9]\d{0,8}$/.test(number)) throw usage(`NUMBER is the number of a revision, not "${number}".`)
    const prepared = await prepare('get', onlyOne(input), context)
    const routes = routesBelow(prepared.target, 'POST')
    const byPath = routes.find(({ words }) => words === 'revisions/{number}/rollback')
    const byBody = routes.find(({ words }) => words === 'rollback')
    const route = byPath ?? byBody
    if (route === undefined) throw usage(`${prepared.collection.noun} have no revisions to go back to.`)
    const sent = byPath === undefined ? { body: { number: Number(number) } } : { values: { number } }
    const answer = await sendBelow(prepared, route, sent)
    const last = input.has('wait') ? await waitFor(prepared, { isChanged: true }, onlyOne(input), context) : answer
    show(last, input, context)
  },
}

type Variable = { name: string; value?: string | null }

/** `env list`, `env set` and `env unset`: the variables that stand in the record. */
export const env: Command = {
  name: 'env',
  summary: 'Show or change the environment variables of something that runs',
  positionals: [
    { name: 'ACTION', offers: ['list', 'set', 'unset'] },
    ...ONE,
    { name: 'NAME=VALUE', isOptional: true, isMany: true },
  ],
  options: [...WHERE, ...WAITING, OUTPUT],
  details: `${PLACES}\nfreehold env set app shop COLOUR=blue SIZE=2\nfreehold env unset app shop SIZE\nValues are in the record: secrets belong into a vault, which a variable refers to.`,
  async run(input, context) {
    const [action = '', kind = '', name = '', ...words] = input.positionals
    if (!['list', 'set', 'unset'].includes(action)) throw usage('ACTION is one of list, set, unset.')
    if ((action === 'list') !== (words.length === 0))
      throw usage(`env ${action} takes ${action === 'list' ? 'no' : 'at least one'} variable.`)
    const asked = { ...input, positionals: [kind, name] }
    const prepared = await prepare('get', asked, context)
    const { variables, etag } = await variablesOf(prepared)
    if (action === 'list') return show(variables, input, context)
    const next =
      action === 'set' ? withVariables(variables, words) : variables.filter((one) => !words.includes(one.name))
    const updating = await prepare('patch', asked, context)
    const { route, values } = updating.target
    const headers: Record<string, string> = etag === null ? {} : { 'if-match': etag }
    await prepared.client.request({ method: 'PATCH', path: pathOf(route.path, values), body: { env: next }, headers })
    if (input.has('wait')) await waitFor(prepared, { isChanged: true }, asked, context)
  },
}

async function variablesOf({ client, target, collection }: Prepared) {
  const answer = await client.request({ method: 'GET', path: pathOf(target.route.path, target.values) })
  const { env: variables } = JSON.parse(answer.text) as { env?: Variable[] }
  if (!Array.isArray(variables)) throw usage(`${collection.noun} have no variables of their own.`)
  return { variables, etag: answer.headers.get('etag') }
}

/** Those that are there keep their place. */
export function withVariables(variables: readonly Variable[], words: readonly string[]): Variable[] {
  const wrong = words.find((word) => !/^[A-Za-z_][A-Za-z0-9_.-]*=/.test(word))
  if (wrong !== undefined) throw usage(`A variable is given as NAME=VALUE, not "${wrong}".`)
  const given = new Map(pairsOf('env', words))
  const changed = variables.map((one) => {
    const value = given.get(one.name)
    return value === undefined ? one : { name: one.name, value }
  })
  const added = [...given].filter(([name]) => !variables.some((one) => one.name === name))
  return [...changed, ...added.map(([name, value]) => ({ name, value }))]
}
