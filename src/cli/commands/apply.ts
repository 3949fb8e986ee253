import { setTimeout as delay } from 'node:timers/promises'
import { type Client, PlatformApiError, pathOf, RESOURCE_KINDS } from '../../client/index.ts'
import { isUnknownFieldRefusal } from '../../core/unknownFieldReasons.ts'
import type { Target } from '../collections.ts'
import { readPathOf } from '../collections.ts'
import type { Command, Context, Input } from '../command.ts'
import { describeFailure } from '../describeFailure.ts'
import { CommandFailure, EXIT, usage } from '../failure.ts'
import type { SendToKubernetes } from '../kubernetes.ts'
import { applyToKubernetes } from '../kubernetesObjects.ts'
import { titleOf } from '../kubernetesRefusal.ts'
import { judgeManifest, KUBECONFIG, kubernetesFor, type ManifestStep, planManifestSteps } from '../manifestSteps.ts'
import type { Manifest, ManifestPlan } from '../manifests.ts'
import { printable } from '../output.ts'
import { openSession, SCOPE_OPTIONS } from '../session.ts'
import { readRequestOf, WAIT_OPTIONS, waitFor } from '../waiting.ts'

export const apply: Command = {
  name: 'apply',
  summary: 'Create or change resources from manifests, in the format of kubectl',
  options: [
    {
      long: 'file',
      short: 'f',
      value: 'FILE',
      isRepeatable: true,
      summary: 'YAML or JSON with one or more manifests, or a folder of such files; - is stdin',
    },
    KUBECONFIG,
    ...SCOPE_OPTIONS,
    ...WAIT_OPTIONS,
  ],
  details:
    'The place comes from metadata.namespace if a manifest has one, or else from the options. All manifests are read and\nplaced before the first is sent. What REST cannot write goes to the API server: with --kubeconfig as the user\nof that file, or else with your own rights if `setup` named one. Tenants write no Secrets, choose no ids of\nboundaries and set none of their quotas: those need the kubeconfig of an administrator.',
  async run(input, context) {
    const session = await openSession(context)
    const kubernetes = await kubernetesFor(input, session, context)
    const steps = await planManifestSteps(input, session, context, kubernetes)
    await refuseUnknownFields(steps, kubernetes)
    const target = { client: session.client, kubernetes }
    await applyAll(sortSteps(steps), target, context)
    if (!input.has('wait')) return
    for (const step of steps) {
      if (step.plan !== undefined) await waitUntilSettled(step.plan, session.client, input, context)
      else if (isPlatformKind(step.manifest)) context.terminal.err(`${notAwaitedMessage(step.manifest)}\n`)
    }
  },
}

/** Reports every manifest that is certain to be refused, before anything is sent. @throws CommandFailure */
async function refuseUnknownFields(
  steps: readonly ManifestStep[],
  kubernetes: SendToKubernetes | undefined,
): Promise<void> {
  const verdicts = await Promise.all(steps.map((step) => judgeManifest(step, kubernetes)))
  const refusals = verdicts.flatMap((verdict) => (verdict?.isFinal === true ? [verdict.refusal] : []))
  const [first] = refusals
  if (first === undefined) return
  const lines = [...refusals.map(({ message }) => message), 'Nothing was applied.']
  throw new CommandFailure(first.exitCode, lines.join('\n'))
}

/** @throws CommandFailure at the first refusal, saying whether anything was applied */
async function applyAll(steps: readonly ManifestStep[], target: ApplyTarget, context: Context): Promise<void> {
  let hasNewHolder = false
  for (const [at, step] of steps.entries()) {
    try {
      const result = await applyStep(step, { ...target, hasNewHolder }, context)
      context.terminal.out(`${result}\n`)
      // What the API server wrote may be new to REST, also if it is unchanged.
      if (isHolder(step.manifest) && !result.endsWith(' unchanged')) hasNewHolder = true
    } catch (error) {
      if (!(error instanceof CommandFailure) || at === 0) throw error
      throw new CommandFailure(error.exitCode, `${error.message}\nWhat came before it was applied.`, { cause: error })
    }
  }
}

const isPlatformKind = ({ kind, apiVersion }: Manifest) =>
  RESOURCE_KINDS.some((each) => each.kind === kind && each.apiVersion === apiVersion)

/** REST cannot look up this resource by what its manifest says. */
function notAwaitedMessage({ kind, name = '', namespace }: Manifest): string {
  const namespaceOption = namespace === undefined ? '' : ` -n ${namespace}`
  return `${kind} "${printable(name)}" is not waited for; use \`kubectl wait --for=condition=Ready ${kind.toLowerCase()}/${printable(name)}${namespaceOption}\`.`
}

/** Namespaces, boundaries and groups first, as in Git tools; otherwise in the order of the files. */
function sortSteps(steps: readonly ManifestStep[]): ManifestStep[] {
  const rank = ({ manifest }: ManifestStep) => (isHolder(manifest) ? HOLDERS.indexOf(manifest.kind) : HOLDERS.length)
  return steps.toSorted((one, other) => rank(one) - rank(other))
}
const HOLDERS = ['Namespace', 'Boundary', 'ResourceGroup']
const isHolder = ({ kind }: Manifest) => HOLDERS.includes(kind)

/** Where to write. */
type ApplyTarget = {
  readonly client: Client
  readonly kubernetes: SendToKubernetes | undefined
}

/**
 * @param target also says whether a namespace, boundary or group was written before
 * @returns the result for the user
 */
async function applyStep(
  { manifest, plan }: ManifestStep,
  target: ApplyTarget & { readonly hasNewHolder: boolean },
  context: Context,
): Promise<string> {
  const { client, kubernetes, hasNewHolder } = target
  const title = plan?.title ?? `${manifest.kind} "${manifest.name ?? ''}"`
  const atApiServer = async (send: SendToKubernetes) =>
    `${title} ${await applyToKubernetes(manifest, send, context.signal)} (with Kubernetes)`
  if (plan === undefined) return atApiServer(kubernetes as SendToKubernetes)
  try {
    const isWaiting = (error: PlatformApiError) =>
      isOfNewHolder(error, hasNewHolder) || (error.status === 503 && plan.change !== undefined)
    return await retryUntilReady(() => writePlan(plan, client), isWaiting, context.signal)
  } catch (error) {
    if (kubernetes !== undefined && manifest.name !== undefined && needsApiServer(error)) return atApiServer(kubernetes)
    if (!(error instanceof PlatformApiError)) throw error
    const { lines, exitCode } = describeFailure(error)
    const report = [`${printable(titleOf(manifest))} was not applied:`, ...lines]
    throw new CommandFailure(exitCode, [...report, ...(hasUnknownFields(error) ? [ONLY_KUBECTL] : [])].join('\n'))
  }
}

/** REST does not take a field, or names such resources itself: the API server accepts the manifest as it is. */
function needsApiServer(error: unknown): boolean {
  return hasUnknownFields(error) || error instanceof NotNamedByCaller
}

class NotNamedByCaller extends CommandFailure {}

/** Called after all manifests were sent, so that the resources settle in parallel. */
async function waitUntilSettled(
  { collection, change, create, name }: ManifestPlan,
  client: Client,
  input: Input,
  context: Context,
) {
  const target = change ?? create
  const isRead = collection.routes.some(({ verb }) => verb === 'get')
  // The platform named this resource: it was sent without a name, and is not waited for.
  if (target === undefined || name === undefined || !isRead) return
  const reading = readRequestOf({ client, collection, target, query: {} }, name)
  await waitFor(reading, { isChanged: true }, { ...input, positionals: [collection.singular, name] }, context)
}

const ONLY_KUBECTL =
  'REST takes no such field here. If the kind has it, name a kubeconfig that may write it with --kubeconfig; else correct the name.'

function hasUnknownFields(error: unknown): boolean {
  return (
    error instanceof PlatformApiError && error.code === 'MODEL_BINDING_FAILED' && isUnknownFieldRefusal(error.message)
  )
}

const READY_TIMEOUT_MS = 60_000
const RETRY_INTERVAL_MS = 250

/**
 * A new group accepts resources only after a moment, and REST sees a new boundary with a delay. Applying them together
 * with their contents must work all the same.
 */
function isOfNewHolder({ body, status }: PlatformApiError, hasNewHolder: boolean): boolean {
  const { phase } = (body ?? {}) as { phase?: unknown }
  return phase === 'WaitingForGroup' || (hasNewHolder && status === 404)
}

/** Retries while the refusal is temporary. Safe, because named resources are updated, not created twice. */
async function retryUntilReady<Result>(
  work: () => Promise<Result>,
  isWaiting: (error: PlatformApiError) => boolean,
  signal: AbortSignal,
): Promise<Result> {
  const until = performance.now() + READY_TIMEOUT_MS
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof PlatformApiError) || !isWaiting(error) || performance.now() > until) throw error
    }
    await delay(RETRY_INTERVAL_MS, undefined, { signal })
  }
}

/** Updates the resource, or creates it. @returns the result for the user */
async function writePlan(plan: ManifestPlan, client: Client): Promise<string> {
  const { title, change, create, body } = plan
  const send = ({ route, values }: Target) =>
    client.request({ method: route.method, path: pathOf(route.path, values), body })
  if (change !== undefined) {
    try {
      const before = await versionOf(plan, client)
      const { headers } = await send(change)
      return `${title} ${before !== null && before === headers.get('etag') ? 'unchanged' : 'configured'}`
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

/** Returns the ETag of the stored resource; null if it cannot be read. */
async function versionOf({ collection, change }: ManifestPlan, client: Client): Promise<string | null> {
  const path = readPathOf(collection, change)
  if (path === undefined) return null
  const isUnseen = (error: unknown) => error instanceof PlatformApiError && error.status !== 401
  try {
    return (await client.request({ method: 'GET', path })).headers.get('etag')
  } catch (error) {
    if (isUnseen(error)) return null
    throw error
  }
}
