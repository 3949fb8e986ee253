import { type Operation, PlatformApiError, pathOf, type RawAnswer } from '../../client/index.ts'
import { quoteShellWord } from '../../core/shellWord.ts'
import { answerFormat, isSecret, parseJsonAnswer } from '../answers.ts'
import { clusterDetailsFor, reasonReader } from '../clusterDetails.ts'
import type { CollectionRoute } from '../collection.ts'
import { normalizedPath } from '../collections.ts'
import type { Command, Input } from '../command.ts'
import type { ClusterDetails } from '../kubernetesDetails.ts'
import { printable, renderRecords } from '../output.ts'
import { hasReplicas, isAutoscaled, settleStateOf, statusLine, statusOf } from '../recordStatus.ts'
import { readRedactedRecord } from '../redactedRecord.ts'
import {
  KIND_HELP,
  listSubresourceRoutes,
  NAMED_RESOURCE,
  PATH_OPTIONS,
  type PreparedRequest,
  prepareRequest,
  requestSubresource,
  type SubresourceRoute,
} from '../requests.ts'

export const describe: Command = {
  name: 'describe',
  summary: 'Show one resource: its state, its addresses, and what to do next',
  positionals: NAMED_RESOURCE,
  options: PATH_OPTIONS,
  details: `${KIND_HELP}\nSecrets are not shown; the commands that show them are listed at the end.`,
  async run(input, context) {
    const prepared = await prepareRequest('get', input, context)
    const { record, hidden } = await readRedactedRecord(prepared, input.positionals[1] ?? '')
    const below = listSubresourceRoutes(prepared.target, 'GET').filter(({ words }) => isPlain(words))
    const { out } = context.terminal
    const name = input.positionals[1] ?? ''
    const details = await clusterDetailsFor(prepared, name, context)
    const recordWithReason = { statusMessage: details?.message, ...(record as object | undefined) }
    const shownRecord =
      details?.message === undefined ? await reasonReader(prepared, name, context)(record) : recordWithReason
    out(`${input.positionals.join(' ')}: ${printable(statusLine(shownRecord))}\n\n${renderRecords(record, 'table')}`)
    for (const route of below.filter(({ operation }) => isShown(operation))) {
      const answer = await readIfAllowed(prepared, route)
      if (answer === undefined || answerFormat(answer) !== 'json') continue
      if (isSecret(answer)) hidden.push(route.words)
      else out(`\n${route.words}\n${indented(renderRecords(parseJsonAnswer(answer), 'table'))}`)
    }
    for (const [title, rows] of tablesOf(details)) out(`\n${title}\n${indented(renderRecords(rows, 'wide'))}`)
    const steps = nextSteps(input.positionals, record, { ...prepared, placeOptions: placeFlags(input), hidden })
    if (steps.length > 0) out(`\nNext\n${indented(steps.join('\n'))}`)
  },
}

function tablesOf(details: ClusterDetails | undefined): [title: string, rows: readonly object[]][] {
  const conditions = (details?.conditions ?? []).map(({ type, status, reason, message }) => ({
    ...{ type, status, reason, message },
  }))
  const all: [string, readonly object[]][] = [
    ['conditions', conditions],
    ['events of Kubernetes', details?.events ?? []],
  ]
  return all.filter(([, rows]) => rows.length > 0)
}

/** Repeats the place options of the caller for the suggested commands: the defaults do not have them. */
function placeFlags(input: Input): string[] {
  const [boundary, group] = [input.text('boundary'), input.text('group')]
  return [
    ...(boundary === undefined ? [] : ['-b', boundary]),
    ...(group === undefined ? [] : ['-g', group]),
    ...input.all('param').flatMap((each) => ['-p', each]),
  ]
}

/** Whether a route is one segment, such as `health`, without parameters; `config` only serves lists. */
const isPlain = (words: string) => !/[{/]/.test(words) && words !== 'config'

/** Leaves out secrets, pages and files. */
const isShown = ({ isData, paged, media }: Operation) => isData !== true && paged !== true && media === undefined

/** Returns undefined if the caller may not read it or it does not exist: it was not asked for explicitly. */
async function readIfAllowed(prepared: PreparedRequest, route: SubresourceRoute): Promise<RawAnswer | undefined> {
  try {
    return await requestSubresource(prepared, route)
  } catch (error) {
    if (error instanceof PlatformApiError && error.status !== 401) return undefined
    throw error
  }
}

type Found = Pick<PreparedRequest, 'collection' | 'target'> & {
  readonly placeOptions: readonly string[]
  /** Routes below the resource that returned a secret; an empty string is the resource itself. */
  readonly hidden?: readonly string[]
}

/** Suggests commands that make sense now, among those that the API has a route for. */
export function nextSteps(
  positionals: readonly string[],
  record: unknown,
  { collection, target, placeOptions, hidden = [] }: Found,
): string[] {
  const commandLine = (command: string, ...args: string[]) =>
    ['freehold', command, ...[...positionals, ...args, ...placeOptions].map(quoteShellWord)].join(' ')
  const state = settleStateOf(record)
  // No other advice for a resource that is being deleted.
  if (statusOf(record) === 'Deleting') return [commandLine('wait', '--for', 'deleted')]
  const read = listSubresourceRoutes(target, 'GET').filter(({ words }) => isPlain(words))
  const sent = listSubresourceRoutes(target, 'POST')
  const secrets = read.filter(
    ({ operation }) => operation.isData === true && !isFile(operation) && !/logs|files|editor/.test(operation.path),
  )
  const remedies = sent.filter(({ words }) => REMEDIES[words]?.((record ?? {}) as Record<string, unknown>) === true)
  const isDeletion = (route: CollectionRoute) =>
    route.verb === 'delete' && normalizedPath(route) === normalizedPath(target.route)
  const isScaledByPatch =
    hasReplicas(record) && !isAutoscaled(record) && collection.routes.some(({ verb }) => verb === 'patch')
  const lacksSource = (record as { buildStatus?: unknown } | undefined)?.buildStatus === 'NoSource'
  const [kind = '', name = ''] = positionals
  return [
    ...(lacksSource
      ? [['freehold deploy FOLDER', ...['--kind', kind, '--name', name, ...placeOptions].map(quoteShellWord)].join(' ')]
      : []),
    ...(state === 'underWay' ? [commandLine('wait')] : []),
    ...(state === 'failed'
      ? ['Fix what the message names; docs/reference/troubleshooting.md explains each phase.']
      : []),
    ...remedies.map(({ operation }) => `freehold call POST ${quoteShellWord(pathOf(operation.path, target.values))}`),
    ...(read.some(({ words }) => words === 'logs') ? [commandLine('logs')] : []),
    ...(sent.some(({ words }) => words === 'scale') || isScaledByPatch
      ? [`${commandLine('scale', 'REPLICAS')} --wait`]
      : []),
    ...hidden.map((words) => (words === '' ? commandLine('get') : commandLine('read', words))),
    ...secrets.map(({ words }) => commandLine('read', words)),
    ...read.filter(({ operation }) => isFile(operation)).map(({ words }) => `${commandLine('read', words)} > FILE`),
    ...(collection.routes.some(isDeletion) ? [commandLine('delete')] : []),
  ]
}

const isFile = ({ media }: Operation) => media !== undefined && !media.startsWith('text/')

/** Actions that recover from a failure, and the records for which the platform accepts them. */
const REMEDIES: Readonly<Record<string, (record: Record<string, unknown>) => boolean>> = {
  retry: ({ status, retriedBy = null }) => status === 'Failed' && retriedBy === null,
  resume: ({ status, canResume }) => canResume !== false && (status === 'Failed' || status === 'Paused'),
  repair: ({ status, isInstalled }) => isInstalled !== false && (status === 'Failed' || status === 'Degraded'),
}

const indented = (text: string) =>
  text
    .split('\n')
    .map((line) => (line === '' ? '' : `  ${line}`))
    .join('\n')
    .replace(/\n*$/, '\n')
