import { setTimeout as delay } from 'node:timers/promises'
import { type Client, PlatformApiError, pathOf } from '../../client/index.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { Collection, Target } from '../collections.ts'
import type { Command, Context, Input, Option } from '../command.ts'
import { describeFailure } from '../describeFailure.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import { accessOfKubeconfig, accessOfSession, applyToKubernetes, type KubernetesAccess } from '../kubernetes.ts'
import { type Manifest, type ManifestPlan, manifestsIn, placeOfManifest, planManifest } from '../manifests.ts'
import { printable } from '../output.ts'
import { openSession, PLACE_OPTIONS, placeOf, type Session } from '../session.ts'
import { readingOf, WAITING, waitFor } from '../waiting.ts'

export const KUBECONFIG: Option = {
  long: 'kubeconfig',
  value: 'FILE',
  summary: 'What REST cannot write goes to the API server of this file, with the rights of its user',
}

/** The API server for what REST cannot write; undefined where none is known. */
export function accessFor(input: Input, session: Session): KubernetesAccess | undefined {
  const kubeconfig = input.text('kubeconfig')
  return kubeconfig === undefined ? accessOfSession(session) : accessOfKubeconfig(kubeconfig)
}

export const apply: Command = {
  name: 'apply',
  summary: 'Create or change what manifests say, as kubectl accepts them',
  options: [
    {
      long: 'file',
      short: 'f',
      value: 'FILE',
      many: true,
      summary: 'YAML or JSON with one or more manifests, or a folder of such files; - is stdin',
    },
    KUBECONFIG,
    ...PLACE_OPTIONS,
    ...WAITING,
  ],
  details:
    'The place comes from metadata.namespace where a manifest has one, else from the options. All manifests are read and\nplaced before the first is sent. What REST has no way to write goes to the API server: with --kubeconfig as the user\nof that file, else with your own rights, where `setup` named one. Tenants write no Secrets, choose no ids of\nboundaries and set no quotas: those need the kubeconfig of an administrator.',
  async run(input, context) {
    const files = input.all('file')
    if (files.length === 0) throw usage('--file is missing.')
    const session = await openSession(context)
    const place = placeOf(input, session.settings)
    const access = accessFor(input, session)
    const steps: Step[] = []
    for await (const found of manifestsIn(files, context.terminal))
      steps.push(stepOf(found, context.collections, place, access))
    if (steps.length === 0) throw usage('There is no manifest in what was given.')
    const to = { client: session.client, access, hasHolders: steps.some(({ manifest }) => isHolder(manifest)) }
    for (const step of inOrder(steps)) context.terminal.out(`${await applied(step, to, context)}\n`)
    const waited = input.has('wait') ? steps.flatMap(({ plan }) => plan ?? []) : []
    for (const plan of waited) await atRest(plan, session.client, input, context)
  },
}

/** A manifest, and how REST writes it; undefined where only the API server does. */
type Step = { readonly manifest: Manifest; readonly plan: ManifestPlan | undefined }

/** What holds others comes before them, as Git tools have it too; else the order of the files stays. */
function inOrder(steps: readonly Step[]): Step[] {
  const rank = ({ manifest }: Step) => (isHolder(manifest) ? HOLDERS.indexOf(manifest.kind) : HOLDERS.length)
  return steps.toSorted((one, other) => rank(one) - rank(other))
}
const HOLDERS = ['Namespace', 'Boundary', 'ResourceGroup']
const isHolder = ({ kind }: Manifest) => HOLDERS.includes(kind)

/** @throws CommandFailure (usage) where REST cannot write it, and no API server is known that could */
export function stepOf(
  manifest: Manifest,
  collections: readonly Collection[],
  place: ReturnType<typeof placeOf>,
  access: KubernetesAccess | undefined,
): Step {
  if (access === undefined || manifest.name === undefined)
    return { manifest, plan: planManifest(manifest, collections, place) }
  // A namespace that is nobody's is a mistake in either case. What stands in the platform's own the API server knows.
  if (manifest.namespace !== undefined && manifest.namespace !== SYSTEM_NAMESPACE) placeOfManifest(manifest, place)
  try {
    return { manifest, plan: planManifest(manifest, collections, place) }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { manifest, plan: undefined }
  }
}

/** Where to write, and whether boundaries or groups of others are among what is written. */
type Reach = { readonly client: Client; readonly access: KubernetesAccess | undefined; readonly hasHolders: boolean }

/** @returns what was done, for people */
async function applied({ manifest, plan }: Step, to: Reach, context: Context): Promise<string> {
  const { client, access, hasHolders } = to
  const title = plan?.title ?? `${manifest.kind} "${manifest.name ?? ''}"`
  const atApiServer = async (server: KubernetesAccess) =>
    `${title} ${await applyToKubernetes(manifest, server, context.signal)} (with Kubernetes)`
  if (plan === undefined) return atApiServer(access as KubernetesAccess)
  try {
    const isWaiting = (error: PlatformApiError) =>
      isOfNewHolder(error, hasHolders) || (error.status === 503 && plan.change !== undefined)
    return await whenReady(() => write(plan, client), isWaiting, context.signal)
  } catch (error) {
    if (access !== undefined && manifest.name !== undefined && isBeyondRest(error)) return atApiServer(access)
    if (!(error instanceof PlatformApiError)) throw error
    context.terminal.err(`${printable(title)} was not applied:\n`)
    const { lines, exitCode } = describeFailure(error)
    for (const line of lines) context.terminal.err(`${line}\n`)
    throw new CommandFailure(exitCode, hasUnknownFields(error) ? ONLY_KUBECTL : 'What came before it stands.')
  }
}

/** REST has no field for it, or gives such a thing its name itself: the API server takes the manifest as it is. */
function isBeyondRest(error: unknown): boolean {
  return hasUnknownFields(error) || error instanceof NotNamedByCaller
}

class NotNamedByCaller extends CommandFailure {}

/** All were sent before the first is waited for: they come to rest at the same time. */
async function atRest(
  { collection, change, create, name }: ManifestPlan,
  client: Client,
  input: Input,
  context: Context,
) {
  const target = change ?? create
  const isRead = collection.routes.some(({ verb }) => verb === 'get')
  // A thing without a name of its own got one from the platform, and has come to rest with that.
  if (target === undefined || name === undefined || !isRead) return
  const reading = readingOf({ client, collection, target, query: {} }, name)
  await waitFor(reading, { isChanged: true }, { ...input, positionals: [collection.singular, name] }, context)
}

const ONLY_KUBECTL =
  'REST has no such field: name a kubeconfig that may write this manifest with --kubeconfig, or leave the field out.'

function hasUnknownFields(error: unknown): boolean {
  return (
    error instanceof PlatformApiError && error.code === 'MODEL_BINDING_FAILED' && /is not a field/.test(error.message)
  )
}

const READY_WITHIN = 60_000
const PAUSE_MILLISECONDS = 250

/**
 * A group takes things a moment after it was made, and REST knows a boundary a moment after Kubernetes: who applies both at
 * once need not know.
 */
function isOfNewHolder({ body, status }: PlatformApiError, hasHolders: boolean): boolean {
  const { phase } = (body ?? {}) as { phase?: unknown }
  return phase === 'WaitingForGroup' || (hasHolders && status === 404)
}

/** Repeats what was refused for a while only. What has a name of its own is changed, and not made twice. */
async function whenReady<Result>(
  work: () => Promise<Result>,
  isWaiting: (error: PlatformApiError) => boolean,
  signal: AbortSignal,
): Promise<Result> {
  const until = performance.now() + READY_WITHIN
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof PlatformApiError) || !isWaiting(error) || performance.now() > until) throw error
    }
    await delay(PAUSE_MILLISECONDS, undefined, { signal })
  }
}

/** Changes what is there, or creates it. @returns what was done, for people */
async function write({ title, change, create, body }: ManifestPlan, client: Client): Promise<string> {
  const send = ({ route, values }: Target) =>
    client.request({ method: route.method, path: pathOf(route.path, values), body })
  if (change !== undefined) {
    try {
      await send(change)
      return `${title} configured`
    } catch (error) {
      if (!(error instanceof PlatformApiError && error.status === 404)) throw error
      if (create === undefined) {
        const reason =
          'was not found, and the platform gives such a thing its name: leave metadata.name out to create it'
        throw new NotNamedByCaller(EXIT.refused, `${title} ${reason}.`, { cause: error })
      }
    }
  }
  if (create === undefined) throw usage(`${title} cannot be created by REST.`)
  const { status } = await send(create)
  return `${title} ${status === 201 ? 'created' : 'unchanged'}`
}
