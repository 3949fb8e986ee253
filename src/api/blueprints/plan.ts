import { setImmediate } from 'node:timers/promises'
import { z } from 'zod'
import { deploymentOfMark } from '../../contracts/blueprints/executions.ts'
import { type RenderedComponent, restoreExpressions } from '../../contracts/blueprints/render.ts'
import { mapTexts } from '../../contracts/blueprints/specTexts.ts'
import { parseVaultReference } from '../../contracts/jobs.ts'
import { storeBucketName } from '../../contracts/objectstorage.ts'
import { type FieldError, PlatformError } from '../../core/errors.ts'
import { isRecord } from '../../core/isRecord.ts'
import { escapedPart } from '../../core/jsonPointer.ts'
import { BLUEPRINT_ANNOTATION } from '../../core/labels.ts'
import { formatBytes, formatCores } from '../../core/quantity.ts'
import { MASK } from '../../core/redaction.ts'
import { type PartOwner, sumDemands } from '../../core/sizing/demand.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { AccountBucket } from '../../crds/objectstorage.ts'
import { holderOfCounted } from '../../crds/quotaUsers.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { mergePatchBetween } from '../records/mergePatch.ts'
import { otherClusterOf } from '../resources/find.ts'
import { PLAN_VERDICTS, type PlanVerdict, planVerdictOf } from '../resources/plans.ts'
import { isTakenElsewhere } from '../resources/platformNames.ts'
import {
  type Reference,
  refuseMissingReferences,
  type UncachedObjects,
  uncachedKey,
  withUncachedReferences,
} from '../resources/references.ts'
import { unprocessable } from '../resources/sizing.ts'
import { quotaUserIn } from '../resources/usage.ts'
import { refuseWhileDeleting } from '../resources/writes.ts'
import {
  buildComponentSpec,
  type DeploymentTarget,
  type LocatedComponent,
  locateAll,
  mayReadComponent,
  plannedObjectsOf,
  requireActionsAtEach,
} from './mapping.ts'

export const PLANNED_ACTIONS = ['Create', 'Update', 'Unchanged', 'Skip', 'Conflict'] as const
export type PlannedAction = (typeof PLANNED_ACTIONS)[number]

/** A component and what deploying it would do. */
export type PlannedComponent = {
  readonly rendered: RenderedComponent
  readonly located?: LocatedComponent
  readonly action: PlannedAction
  readonly spec?: object
  /** For an existing object: the changes of its spec as a merge patch (RFC 7396), and the patch to store. */
  readonly changes?: object
  readonly patch?: object
  readonly refusal?: PlatformError
  /** What it would wait for, as sentences. */
  readonly awaited?: readonly string[]
}

/** Returns what deploying would do to each component; writes nothing. @throws PlatformError FORBIDDEN with `missing` */
export async function planDeployment(
  deploying: DeploymentTarget,
  deploy: string,
  components: readonly RenderedComponent[],
): Promise<PlannedComponent[]> {
  const located = await locateAll(deploying, components)
  await requireActionsAtEach(deploying, located)
  const planned = plannedObjectsOf(located)
  const firstOf = new Map<string, LocatedComponent>()
  const result: PlannedComponent[] = []
  for (const rendered of components) {
    // Each component costs as much as a request, so yield between them.
    await setImmediate()
    const one = located.find((each) => each.rendered === rendered)
    if (one === undefined) {
      result.push({ rendered, action: 'Skip' })
      continue
    }
    const key = uncachedKey(one.entry.kind, one.ref)
    const first = firstOf.get(key)
    firstOf.set(key, first ?? one)
    const step = await planOne(deploying, deploy, one, planned)
    result.push(first === undefined ? step : { ...step, refusal: sameResource(first.rendered, rendered) })
  }
  return result
}

/** Each would replace what the other wrote, and both would look done. */
function sameResource(first: RenderedComponent, { component, resourceName }: RenderedComponent): PlatformError {
  const { name, collection } = component
  const message = `Components "${first.component.name}" and "${name}" would both be "${resourceName}" of ${collection}.`
  return new PlatformError('RESOURCE_CONFLICT', message, { resources: [{ collection, name: resourceName }] })
}

async function planOne(
  deploying: DeploymentTarget,
  deploy: string,
  located: LocatedComponent,
  planned: ReturnType<typeof plannedObjectsOf>,
): Promise<PlannedComponent> {
  const { previous, rendered, ref, entry } = located
  const isForeign =
    previous !== undefined && deploymentOfMark(previous.metadata.annotations?.[BLUEPRINT_ANNOTATION]) !== deploy
  if (isForeign || isTakenElsewhere(deploying.context.services, entry.kind, ref))
    return { rendered, located, action: 'Conflict' }
  const intended = previous === undefined ? ('Create' as const) : ('Update' as const)
  try {
    if (previous !== undefined) refuseWhileDeleting(previous)
    const spec = await buildComponentSpec(deploying, located, planned)
    await requireParentExists(deploying, located, planned)
    const awaited = await listMissingDependencies(deploying, located, spec, planned)
    if (previous === undefined) return { rendered, located, action: 'Create', spec, awaited }
    const changes = (mergePatchBetween(previous.spec, spec) ?? {}) as object
    const patch = visiblePatch(spec, changes, Object.keys(rendered.body))
    // Must not reveal whether a secret value changes, nor compare with what the caller may not read.
    const isShown = entry.collection !== 'secrets' && mayReadComponent(deploying, located)
    const isSame = isShown && Object.keys(changes).length === 0
    return { rendered, located, action: isSame ? 'Unchanged' : 'Update', spec, changes, patch, awaited }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return { rendered, located, action: intended, refusal: error }
  }
}

const ChangeDto = z.object({ path: z.string(), from: z.unknown(), to: z.unknown() })
/**
 * Returns the patch to store, which readers of deployments see. It contains every field of the template, changed or
 * not: an omitted field would reveal that the stored value is the same.
 */
function visiblePatch(spec: object, changes: object, given: readonly string[]): object {
  const fields = spec as Readonly<Record<string, unknown>>
  const named = given.filter((name) => Object.hasOwn(fields, name))
  const changed = changes as Readonly<Record<string, unknown>>
  return { ...changes, ...Object.fromEntries(named.map((name) => [name, replacingPatch(fields[name], changed[name])])) }
}

/** Returns the value as a patch that also removes members that it does not have. */
function replacingPatch(value: unknown, change: unknown): unknown {
  if (!isRecord(value) || !isRecord(change)) return value
  const removed = Object.keys(change).filter((name) => !Object.hasOwn(value, name))
  const present = Object.entries(value).map(([name, part]) => [name, replacingPatch(part, change[name])])
  return { ...Object.fromEntries(removed.map((name) => [name, null])), ...Object.fromEntries(present) }
}

const PlannedStepDto = namedRecord('PlannedStep', {
  component: z.string(),
  collection: z.string(),
  resourceName: z.string(),
  action: z.enum(PLANNED_ACTIONS),
  changes: z.array(ChangeDto).describe('Of a change, each field of the spec by its JSON Pointer'),
  problems: z.array(z.string()),
})

export const BlueprintPlanDto = namedRecord('BlueprintPlanDto', {
  isValid: z.boolean(),
  steps: z.array(PlannedStepDto),
  verdict: z.enum(PLAN_VERDICTS).describe('Whether all new resources would fit together'),
  verdictReason: z.string().nullable(),
  parameters: z.record(z.string(), z.string()).describe('Secret ones masked'),
})

export function planDto(
  deploying: DeploymentTarget,
  steps: readonly PlannedComponent[],
  parameters: Record<string, string>,
): z.output<typeof BlueprintPlanDto> {
  const isValid = steps.every(({ action, refusal }) => action !== 'Conflict' && refusal === undefined)
  return { isValid, steps: steps.map((step) => stepDto(deploying, step)), ...verdictFor(deploying, steps), parameters }
}

function stepDto(
  deploying: DeploymentTarget,
  { rendered, action, changes: changed, located, refusal, awaited = [] }: PlannedComponent,
): z.output<typeof PlannedStepDto> {
  const { component, resourceName } = rendered
  const conflictMessage = `"${resourceName}" of ${component.collection} exists and was not made by this deployment.`
  const problems = action === 'Conflict' ? [conflictMessage] : refusal === undefined ? awaited : messagesOf(refusal)
  const shown = (text: string) => restoreExpressions(text, deploying.lateMark)
  const { name, collection } = component
  const changes =
    changed === undefined || located === undefined
      ? []
      : mayReadComponent(deploying, located)
        ? [...changesOf(located.previous?.spec, changed, '')]
        : templateFieldsOf(rendered)
  for (const change of changes)
    change.to = mapTexts(change.to, (found) => (typeof found === 'string' ? shown(found) : found))
  return { component: name, collection, resourceName, action, changes, problems: problems.map(shown) }
}

function messagesOf({ message, extras }: PlatformError): string[] {
  const errors = extras.errors as FieldError[] | undefined
  return errors === undefined || errors.length === 0
    ? [message]
    : errors.map(({ field, message: reason }) => `${field} ${reason}`)
}

/** Returns every field of the template, changed or not: an omitted field would reveal the current value. */
function templateFieldsOf({ component: { collection }, body }: RenderedComponent): z.output<typeof ChangeDto>[] {
  return Object.entries(body).map(([name, to]) => {
    const isShown = name !== 'env' && !(collection === 'secrets' && name === 'value')
    return { path: `/${escapedPart(name)}`, from: MASK, to: isShown ? to : MASK }
  })
}

/** Values of environment variables are masked, because they may be secrets that somebody set by hand. */
function* changesOf(before: unknown, patch: unknown, path: string): Iterable<z.output<typeof ChangeDto>> {
  const current = before as Record<string, unknown> | undefined
  for (const [name, to] of Object.entries(patch as object)) {
    const at = `${path}/${escapedPart(name)}`
    const from = current?.[name] ?? null
    const isNested = typeof to === 'object' && to !== null && !Array.isArray(to)
    if (name === 'env') yield { path: at, from: MASK, to: MASK }
    else if (isNested && typeof from === 'object' && from !== null) yield* changesOf(from, to, at)
    else yield { path: at, from, to }
  }
}

/** Returns the object that a part takes its plan from, if the deployment creates or changes it too. */
function plannedHolder(
  steps: readonly PlannedComponent[],
  { entry, ref }: LocatedComponent,
  spec: object,
): PartOwner | undefined {
  const holder = holderOfCounted(entry.kind, ref, spec)
  const isHolder = ({ located }: PlannedComponent) =>
    located !== undefined && located.entry.kind === holder?.kind && located.ref.name === holder.name
  const planned = steps.find(isHolder)?.spec
  return planned && { spec: planned }
}

/** Like the verdict of a plan, for all new resources together. */
function verdictFor(
  { context, resourceGroup, clusterId }: DeploymentTarget,
  steps: readonly PlannedComponent[],
): PlanVerdict {
  const { services } = context
  const sum = sumDemands(
    steps.flatMap(({ action, located, spec }) => {
      if (action !== 'Create' || located === undefined || spec === undefined) return []
      const { kind } = located.entry
      if (kind.sized === undefined) return []
      const object = { apiVersion: kind.apiVersion, kind: kind.kind, metadata: { ...located.ref }, spec }
      return [
        quotaUserIn(services, { kind, resourceGroup, object } as never, plannedHolder(steps, located, spec)).demand,
      ]
    }),
  )
  const nodes = otherClusterOf(services, clusterId) === undefined ? services.capacity.freeNodeCapacities() : undefined
  const all = nodes && [
    {
      cpu: nodes.reduce((total, node) => total + node.cpu, 0n),
      memory: nodes.reduce((total, node) => total + node.memory, 0n),
    },
  ]
  const { verdict, verdictReason } = planVerdictOf(
    { cpuRequest: formatCores(sum.cpu), memoryRequest: formatBytes(sum.memory), replicas: 1 },
    all,
  )
  if (verdict !== 'DoesNotFit') return { verdict, verdictReason }
  const demand = `${formatCores(sum.cpu)} cpu and ${formatBytes(sum.memory)} memory`
  return { verdict, verdictReason: `All nodes together have no room for the requested ${demand}.` }
}

/**
 * The parent of a part must exist or be created by the same deployment. Checked after the rights on the parent, so that
 * the answer does not reveal which names exist.
 * @throws PlatformError REFERENCE_NOT_FOUND
 */
async function requireParentExists(
  deploying: DeploymentTarget,
  { entry: { part }, ref: { namespace }, rendered: { body } }: LocatedComponent,
  planned: UncachedObjects,
): Promise<void> {
  if (part === undefined) return
  const { parentField, parentCollection } = part
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === parentCollection)
  const name = String(body[parentField])
  if (kind !== undefined && !(await objectExists(deploying, kind, { namespace, name }, planned)))
    throw missingReference(parentField, name, `There is no "${name}" of ${parentCollection} in this group.`)
  const buckets = (parentField === 'accountName' && (body.buckets as readonly string[] | undefined)) || []
  for (const bucket of buckets)
    if (!(await objectExists(deploying, AccountBucket, { namespace, name: storeBucketName(name, bucket) }, planned)))
      throw missingReference('buckets', bucket, `Account "${name}" has no bucket "${bucket}".`)
}

const missingReference = (field: string, value: string, message: string) =>
  unprocessable('REFERENCE_NOT_FOUND', field, value, message)

async function objectExists(
  { context: { services } }: DeploymentTarget,
  kind: AnyKind,
  ref: { namespace: string; name: string },
  planned: UncachedObjects,
): Promise<boolean> {
  const found = planned.get(uncachedKey(kind, ref)) ?? (await services.records.get(kind, ref, { fresh: true }))
  return found !== undefined && found.metadata.deletionTimestamp === undefined
}

/**
 * Returns, as sentences, what a component would wait for that neither exists nor is created by the deployment. REST
 * accepts a job that refers to a missing secret, as it may be created later; for a blueprint this deserves a warning.
 */
async function listMissingDependencies(
  { context, boundaryId, resourceGroup }: DeploymentTarget,
  { entry }: LocatedComponent,
  spec: object,
  planned: UncachedObjects,
): Promise<string[]> {
  if (entry.collection !== 'jobs') return []
  const { env = {} } = spec as { env?: Readonly<Record<string, string>> }
  const problems: string[] = []
  for (const reference of Object.values(env).flatMap(secretOf)) {
    const target = { services: context.services, boundaryId, resourceGroup }
    const check = (unseen: UncachedObjects) => refuseMissingReferences({ env: [reference] }, [], { ...target, unseen })
    const message = await withUncachedReferences(context, check, planned).then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof PlatformError && error.code === 'REFERENCE_NOT_FOUND') return error.message
        throw error
      },
    )
    if (message !== undefined && !problems.includes(message)) problems.push(message)
  }
  return problems
}

function secretOf(value: string): Reference[] {
  const found = parseVaultReference(value)
  return found === undefined ? [] : [{ secret: { vaultName: found.vault, secretName: found.secret } }]
}
