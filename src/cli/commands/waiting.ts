import { setTimeout as delay } from 'node:timers/promises'
import { pagesOf, pathOf } from '../../client/index.ts'
import { quoteShellWord } from '../../core/shellWord.ts'
import { reasonReader } from '../clusterDetails.ts'
import { nameFieldOf } from '../collections.ts'
import type { Command, Context, Input } from '../command.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { printable } from '../output.ts'
import {
  hasReplicas,
  isAutoscaled,
  replicasOfComponents,
  settleStateOf,
  statusLine,
  statusOf,
} from '../recordStatus.ts'
import {
  KIND,
  KIND_HELP,
  listSubresourceRoutes,
  NAME,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  resourceInput,
  send,
  sendToSubresource,
} from '../requests.ts'
import { OUTPUT, show } from '../session.ts'
import {
  DELETED,
  requireKnownStatus,
  resourceNameOf,
  TIMEOUT_OPTIONS,
  WAIT_OPTIONS,
  waitFor,
  waitResultOf,
} from '../waiting.ts'

export const wait: Command = {
  name: 'wait',
  summary: 'Wait until a resource has settled, or is gone',
  positionals: NAMED_RESOURCE,
  options: [
    ...PATH_OPTIONS,
    { long: 'for', value: 'STATUS', summary: 'A status such as Stopped, or "deleted"; default: any settled one' },
    ...TIMEOUT_OPTIONS,
    OUTPUT,
  ],
  details: `${KIND_HELP}\nExit code 6: it has failed, or is gone. Exit code 7: the time is up.`,
  async run(input, context) {
    const prepared = await prepareRequest('get', input, context)
    const status = input.text('for')
    const isGone = status === DELETED
    if (status !== undefined && !isGone) requireKnownStatus(status, prepared)
    const record = await waitFor(prepared, isGone ? { isGone } : { status }, input, context)
    if (record !== undefined && input.text('output') !== undefined) show(record, input, context)
  },
}

export const scale: Command = {
  name: 'scale',
  summary: 'Change the number of replicas',
  positionals: [...NAMED_RESOURCE, { name: 'REPLICAS' }],
  options: [...PATH_OPTIONS, ...WAIT_OPTIONS, OUTPUT],
  details: `${KIND_HELP}\nfreehold scale vectorcluster products 4 --wait`,
  async run(input, context) {
    const replicas = input.positionals[2] ?? ''
    if (!/^\d{1,4}$/.test(replicas)) throw usage(`REPLICAS must be a whole number from 0 to 9999, not "${replicas}".`)
    const prepared = await prepareRequest('get', resourceInput(input), context)
    const route = listSubresourceRoutes(prepared.target, 'POST').find(({ words }) => words === 'scale')
    const answer =
      route === undefined
        ? await patchReplicas(prepared, Number(replicas), resourceInput(input), context)
        : await sendToSubresource(prepared, route, { body: { targetScale: Number(replicas) } })
    const last = input.has('wait')
      ? await waitFor(prepared, { isChanged: true }, resourceInput(input), context)
      : answer
    // The answer is a scale, which has no name.
    const named = { name: prepared.target.values[prepared.target.route.nameParameter ?? ''], ...(last as object) }
    show(input.text('output') === 'name' ? named : last, input, context)
  },
}

/** For kinds whose replicas are a field of the record. @throws CommandFailure (usage) if it would change nothing */
async function patchReplicas(
  prepared: PreparedRequest,
  replicas: number,
  input: Input,
  context: Context,
): Promise<unknown> {
  const { noun, routes } = prepared.collection
  const message = `${noun} have no replicas to change.`
  if (routes.every(({ verb }) => verb !== 'patch')) throw usage(message)
  const record = await send(prepared)
  const title = input.positionals.join(' ')
  // The platform would accept the number, but the autoscaler would override it.
  if (isAutoscaled(record))
    throw usage(`${title} scales by itself: change its minReplicas and maxReplicas instead.${patchHint(prepared)}`)
  const components = replicasOfComponents(record)
  if (components.length > 0)
    throw usage(
      `The components of ${title} have copies of their own (${components.join(', ')}): change components[].replicas in its manifest, and \`freehold apply\` it.`,
    )
  if (!hasReplicas(record)) throw usage(message)
  return send(await prepareRequest('patch', input, context), { replicas })
}

const patchHint = ({ target }: PreparedRequest) =>
  ` freehold call PATCH ${quoteShellWord(pathOf(target.route.path, target.values))} -d '{"minReplicas":1,"maxReplicas":3}'`

/** The status to wait for, because any settled status may be the previous one. A restart ends as it began. */
const AWAITED_STATUS: Readonly<Record<string, string | undefined>> = { start: 'Running', stop: 'Stopped' }

/** `start`, `stop` and `restart`, for all kinds that have them. */
export const powerCommands: readonly Command[] = ['start', 'stop', 'restart'].map((action) => ({
  name: action,
  summary: `${action.slice(0, 1).toUpperCase()}${action.slice(1)} a resource`,
  positionals: NAMED_RESOURCE,
  options: [...PATH_OPTIONS, ...WAIT_OPTIONS],
  details: KIND_HELP,
  async run(input: Input, context: Context) {
    const prepared = await prepareRequest('get', input, context)
    const route = listSubresourceRoutes(prepared.target, 'PUT').find(({ words }) => words === 'actions/{action}')
    if (route === undefined) throw usage(`${prepared.collection.noun} cannot ${action}.`)
    const answer = await sendToSubresource(prepared, route, { values: { action } })
    const title = input.positionals.join(' ')
    const isUnchanged = ((answer ?? {}) as { changed?: unknown }).changed === false
    const now = printable(statusOf(answer) ?? 'there')
    const outcome = isUnchanged ? `changed nothing; it is ${now}` : 'was accepted'
    context.terminal.err(`${title}: ${action} ${outcome}.\n`)
    if (!input.has('wait')) return
    const wanted = { status: AWAITED_STATUS[action], isChanged: true }
    if (!isUnchanged || settleStateOf(answer) === 'underWay') await waitFor(prepared, wanted, input, context)
    else if (waitResultOf(answer, wanted) !== 'reached')
      throw new CommandFailure(EXIT.failed, `${title} has not become ${wanted.status}: it is ${now}.`)
  },
}))

const WATCH_INTERVAL_MS = 2_000

export const watch: Command = {
  name: 'watch',
  summary: 'Show each change of status, until interrupted',
  positionals: [KIND, NAME],
  options: PATH_OPTIONS,
  details: KIND_HELP,
  async run(input, context) {
    const isSingle = input.positionals.length > 1
    const prepared = await prepareRequest(isSingle ? 'get' : 'list', input, context)
    const nameField = nameFieldOf(prepared.collection)
    const withReason = isSingle ? reasonReader(prepared, resourceNameOf(prepared), context) : undefined
    const shown = new Map<string, string>()
    for (;;) {
      const now = new Map<string, string>()
      for await (const record of isSingle ? [await send(prepared)] : itemsOf(prepared)) {
        const fields = (record ?? {}) as Record<string, unknown>
        now.set(
          String(fields[nameField] ?? fields.name ?? fields.id ?? ''),
          statusLine((await withReason?.(record)) ?? record),
        )
      }
      for (const line of describeListChanges(shown, now)) context.terminal.out(`${printable(line)}\n`)
      shown.clear()
      for (const [name, line] of now) shown.set(name, line)
      await delay(WATCH_INTERVAL_MS, undefined, { signal: context.signal })
    }
  },
}

/** Returns a line for each difference between two readings of a list. */
export function describeListChanges(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const deleted = [...before.keys()].filter((name) => !now.has(name)).map((name) => `${name}: gone`)
  const changed = [...now].filter(([name, line]) => before.get(name) !== line)
  return [...deleted, ...changed.map(([name, line]) => `${name}: ${line}`)]
}

function itemsOf(prepared: PreparedRequest): AsyncGenerator<unknown> {
  const isPaged = prepared.target.route.paged === true
  return pagesOf((page) => send({ ...prepared, query: isPaged ? { pageSize: 500, ...page } : {} }), {})
}
