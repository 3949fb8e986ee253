import { isDeepStrictEqual } from 'node:util'
import { pathOf } from '../../client/index.ts'
import { OUTPUT_COLLECTIONS, outputsOf } from '../../contracts/references.ts'
import { suggestion } from '../../core/suggestion.ts'
import type { Collection } from '../collection.ts'
import { findCollection } from '../collections.ts'
import type { Command, Context, Input, Option } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import {
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  resourceInput,
  send,
  sendToSubresource,
} from '../requests.ts'
import { isForPeople, OUTPUT, show } from '../session.ts'
import { parsePairs } from '../text.ts'
import { WAIT_OPTIONS, waitFor } from '../waiting.ts'

/** Returns the public address; for a function, the one to call it at. */
export function publicUrlOf(record: unknown): string | undefined {
  const { publicUrl, invokeUrl } = (record ?? {}) as { publicUrl?: string | null; invokeUrl?: string | null }
  return publicUrl || invokeUrl || undefined
}

export const open: Command = {
  name: 'open',
  summary: 'Open the public address of an app, a site or a function',
  positionals: NAMED_RESOURCE,
  options: PATH_OPTIONS,
  details: `${KIND_HELP}\nWithout a browser the address is printed.`,
  async run(input, context) {
    const record = await send(await prepareRequest('get', input, context))
    const url = publicUrlOf(record)
    if (url === undefined)
      throw new CommandFailure(EXIT.failed, `${input.positionals.join(' ')} has no public address yet.`)
    const { terminal } = context
    if (terminal.openBrowser === undefined || !terminal.isTerminal) terminal.out(`${url}\n`)
    else terminal.openBrowser(url)
  },
}

/** Serves an earlier revision again, without a build. */
export const rollback: Command = {
  name: 'rollback',
  summary: 'Serve an earlier revision again',
  positionals: [...NAMED_RESOURCE, { name: 'NUMBER' }],
  options: [...PATH_OPTIONS, ...WAIT_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nNUMBER is the number of a revision: freehold rollback app shop 3 --wait`,
  async run(input, context) {
    const number = input.positionals[2] ?? ''
    if (!/^[1-9]\d{0,8}$/.test(number)) throw usage(`NUMBER must be the number of a revision, not "${number}".`)
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const routes = listSubresourceRoutes(prepared.target, 'POST')
    const byPath = routes.find(({ words }) => words === 'revisions/{number}/rollback')
    const rollbackRoute = routes.find(({ words }) => words === 'rollback')
    const route = byPath ?? rollbackRoute
    if (route === undefined) throw usage(`${prepared.collection.noun} have no revisions to go back to.`)
    const sent = byPath === undefined ? { body: { number: Number(number) } } : { values: { number } }
    const answer = await sendToSubresource(prepared, route, sent)
    const last = input.has('wait')
      ? await waitFor(prepared, { isChanged: true }, resourceInput(input), context)
      : answer
    show(last, input, context)
  },
}

type Variable = { name: string; value?: string | null; secret?: object | null; output?: object | null }

const FROM: Option = {
  long: 'from',
  value: 'NAME=KIND/NAME/WHAT',
  isRepeatable: true,
  summary: 'With `set`: takes the value from a secret of a vault, or from an output of another resource',
}

/** `env list`, `env set` and `env unset`: the variables in the record. */
export const env: Command = {
  name: 'env',
  summary: 'Show or change the environment variables of a resource',
  positionals: [
    { name: 'ACTION', offers: ['list', 'set', 'unset'] },
    ...NAMED_RESOURCE,
    { name: 'NAME=VALUE', isOptional: true, isMany: true },
  ],
  options: [FROM, ...PATH_OPTIONS, ...WAIT_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nfreehold env set app shop COLOUR=blue SIZE=2\nfreehold env unset app shop SIZE\nfreehold env set app shop --from DATABASE_URL=relationalcluster/orders/connectionString\nfreehold env set app shop --from TOKEN=secretvault/acme-shop/PaymentToken\nValues are stored in the record: keep secrets in a vault, and refer to them.`,
  async run(input, context) {
    const [action = '', kind = '', name = '', ...words] = input.positionals
    if (!['list', 'set', 'unset'].includes(action)) throw usage('ACTION must be one of list, set, unset.')
    const from = input.all('from')
    if (from.length > 0 && action !== 'set') throw usage('--from belongs to env set.')
    if ((action === 'list') !== (words.length + from.length === 0))
      throw usage(`env ${action} takes ${action === 'list' ? 'no' : 'at least one'} variable.`)
    const references = from.map((word) => parseReference(word, context.collections))
    const getInput = { ...input, positionals: [kind, name] }
    const prepared = await prepareRequest('get', getInput, context)
    const { record, variables, etag } = await variablesOf(prepared)
    if (action === 'list') return showVariables(variables, input, context)
    const next =
      action === 'set'
        ? withVariables(variables, words, references)
        : withoutVariables(variables, words, `${kind} ${name}`)
    const changes = describeVariableChanges(variables, next)
    const summary = `${kind} ${name}: ${changes.join(', ') || 'nothing changes'}.\n`
    if (changes.length === 0) return context.terminal.err(summary)
    // Without a PATCH route, the record that was read is written back.
    const verb = (['patch', 'update'] as const).find((each) =>
      prepared.collection.routes.some((route) => route.verb === each),
    )
    if (verb === undefined)
      throw usage(`${prepared.collection.noun} cannot be changed: delete ${kind} ${name}, and create it again.`)
    const { route, values } = (await prepareRequest(verb, getInput, context)).target
    const headers: Record<string, string> = etag === null ? {} : { 'if-match': etag }
    const body = { ...(verb === 'update' && record), env: next }
    await prepared.client.request({ method: route.method, path: pathOf(route.path, values), body, headers })
    context.terminal.err(summary)
    if (input.has('wait')) await waitFor(prepared, { isChanged: true }, getInput, context)
  },
}

async function variablesOf({ client, target, collection }: PreparedRequest) {
  const answer = await client.request({ method: 'GET', path: pathOf(target.route.path, target.values) })
  const record = JSON.parse(answer.text) as { env?: Variable[] }
  const { env: variables } = record
  if (!Array.isArray(variables)) throw usage(`${collection.noun} have no variables of their own.`)
  return { record, variables, etag: answer.headers.get('etag') }
}

/** Shows readable references to people, and the record itself to programs. */
function showVariables(variables: readonly Variable[], input: Input, context: Context): void {
  show(isForPeople(input, context) ? variables.map(rowOf) : variables, input, context)
}

/** Describes the source of a value as in `--from`. */
export function rowOf({ name, value, secret, output }: Variable): { name: string; value: string } {
  const { vaultName, secretName, version } = (secret ?? {}) as Record<string, unknown>
  const { collection, name: owner, output: outputName } = (output ?? {}) as Record<string, unknown>
  if (secret)
    return { name, value: `from ${VAULTS}/${vaultName}/${secretName}${version ? ` (version ${version})` : ''}` }
  if (output) return { name, value: `from ${collection}/${owner}/${outputName}` }
  return { name, value: value ?? '' }
}

/** @throws CommandFailure (usage) for an unknown name */
export function withoutVariables(variables: readonly Variable[], names: readonly string[], title: string): Variable[] {
  const known = variables.map((one) => one.name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw usage(`${title} has no variable "${unknown}"${suggestion(unknown, known) || '.'}`)
  return variables.filter((one) => !names.includes(one.name))
}

/** Lists changes without values, which may be secret: `set COLOUR`, `unset SIZE`. */
export function describeVariableChanges(before: readonly Variable[], next: readonly Variable[]): string[] {
  const find = (all: readonly Variable[], name: string) => all.find((one) => one.name === name)
  const isSame = (one: Variable, other: Variable | undefined) =>
    other !== undefined && isDeepStrictEqual(rowOf(one), rowOf(other))
  return [
    ...next.filter((one) => !isSame(one, find(before, one.name))).map(({ name }) => `set ${name}`),
    ...before.filter(({ name }) => find(next, name) === undefined).map(({ name }) => `unset ${name}`),
  ]
}

/** Existing variables keep their position. */
export function withVariables(
  variables: readonly Variable[],
  words: readonly string[],
  references: readonly Variable[] = [],
): Variable[] {
  const invalid = words.find((word) => !/^[A-Za-z_][A-Za-z0-9_.-]*=/.test(word))
  if (invalid !== undefined) throw usage(`A variable is given as NAME=VALUE, not "${invalid}".`)
  const plain = parsePairs('env', words).map(([name, value]) => ({ name, value }))
  const replacements = new Map([...plain, ...references].map((one) => [one.name, one]))
  const changed = variables.map((one) => replacements.get(one.name) ?? one)
  const added = [...replacements.values()].filter(({ name }) => !variables.some((one) => one.name === name))
  return [...changed, ...added]
}

/** Parses `DATABASE_URL=relationalcluster/orders/connectionString`. @throws CommandFailure (usage) if it is invalid */
export function parseReference(word: string, collections: readonly Collection[]): Variable {
  const [, name, kind = '', owner = '', outputName = ''] =
    /^([A-Za-z_][A-Za-z0-9_.-]*)=([^/]+)\/([^/]+)\/([^/]+)$/.exec(word) ?? []
  if (name === undefined) throw usage(`--from takes NAME=KIND/NAME/WHAT, not "${word}".`)
  const { noun } = findCollection(kind, collections)
  if (noun === VAULTS) return { name, secret: { vaultName: owner, secretName: outputName } }
  const collection = OUTPUT_COLLECTIONS.find((each) => each === noun)
  if (collection === undefined) {
    throw usage(`${noun} have no outputs: --from knows ${[VAULTS, ...OUTPUT_COLLECTIONS].join(', ')}.`)
  }
  const outputs = outputsOf(collection)
  if (!outputs.includes(outputName))
    throw usage(`${noun} have no output "${outputName}": there are ${outputs.join(', ')}.`)
  return { name, output: { collection, name: owner, output: outputName } }
}
const VAULTS = 'secretvaults'
