import { blueprintMark, deploymentOfMark, VALUE_KEY, valueSecretName } from '../../contracts/blueprints/executions.ts'
import { fillDeferredValues } from '../../contracts/blueprints/render.ts'
import { filterAllowedSecrets, secretsGivenTo } from '../../contracts/namespaceSecrets.ts'
import { objectId } from '../../core/ids.ts'
import {
  ACTOR_ANNOTATION,
  BLUEPRINT_ANNOTATION,
  BLUEPRINT_EXECUTION_ANNOTATION,
  CREATED_BY_ANNOTATION,
} from '../../core/labels.ts'
import { type KubeObject, keyOf, refOf } from '../../core/object.ts'
import { type SecretData, secretData } from '../../core/secretData.ts'
import { tryParseJsonObject } from '../../core/tryParseJson.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import type { BlueprintExecution, ExecutionStep } from '../../crds/blueprints.ts'
import type { AnyKind } from '../../crds/define.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import type { VaultEntry } from '../../crds/vaults.ts'
import { plainField, plainOutput } from '../../desired/blueprints.ts'
import { secret } from '../../kube/builtin.ts'
import { absent, isKubeError } from '../../kube/errors.ts'
import type { Pass } from '../engine/controller.ts'
import { readSecret } from '../workload/secrets.ts'
import { changedFields, isHarmless } from './references.ts'
import { findMissingRight } from './rights.ts'

export type ExecutionPass = Pass<typeof BlueprintExecution>
/** Values of the secret parameters, by name. */
export type Parameters = Readonly<Record<string, string>>
export type StepWriteResult =
  | { readonly object: KubeObject; readonly awaits?: string }
  | { readonly refusal: string }
  /** The user who started the deployment lacks a right, which may just not have propagated yet. */
  | { readonly missingRight: string }
type StepLocation = {
  readonly namespace: string
  readonly parameters: Parameters
  /** UID of the object that an earlier pass created or changed. */
  readonly uid?: string | undefined
}

export function kindOf({ collection }: Pick<ExecutionStep, 'collection'>): AnyKind | undefined {
  return BLUEPRINT_COLLECTIONS.get(collection)?.kind
}

function refOfStep({ object }: ExecutionPass, step: ExecutionStep, group: string) {
  const isInGroup = kindOf(step)?.placement === 'group'
  return { namespace: isInGroup ? group : (object.metadata.namespace ?? ''), name: step.objectName }
}

export function observedObjectOf(pass: ExecutionPass, step: ExecutionStep, group: string): KubeObject | undefined {
  const kind = kindOf(step)
  const { namespace, name } = refOfStep(pass, step, group)
  return kind === undefined ? undefined : pass.records.cache(kind.resource).get(namespace, name)
}

/** Creates or changes the object of a step, unless this execution has already done so. */
export async function writeStepObject(
  pass: ExecutionPass,
  step: ExecutionStep,
  location: StepLocation,
): Promise<StepWriteResult> {
  const entry = BLUEPRINT_COLLECTIONS.get(step.collection)
  if (entry === undefined) return { refusal: `There is no collection "${step.collection}".` }
  const { kind } = entry
  const { object: execution, records } = pass
  const ref = refOfStep(pass, step, location.namespace)
  const isOurs = (found: KubeObject | undefined) =>
    found?.metadata.annotations?.[BLUEPRINT_EXECUTION_ANNOTATION] === keyOf(execution as unknown as KubeObject)
  const cached = observedObjectOf(pass, step, location.namespace)
  if (cached !== undefined && isOurs(cached)) return passVaultValue(pass, step, cached, location)
  const stored = await records.client.get(kind.resource, ref).catch(absent)
  if (stored !== undefined && isOurs(stored)) return passVaultValue(pass, step, stored, location)
  // Deleting an object that a deployment waits for fails the deployment; otherwise it would keep coming back.
  if (location.uid !== undefined && stored?.metadata.uid !== location.uid)
    return { refusal: `"${step.resourceName}" of ${step.collection} was deleted while the deployment was under way.` }
  if (stored?.metadata.deletionTimestamp !== undefined) return { refusal: `"${step.resourceName}" is being deleted.` }
  const deploy = deploymentOfMark(stored?.metadata.annotations?.[BLUEPRINT_ANNOTATION])
  if (stored !== undefined && deploy !== execution.spec.name)
    return { refusal: `"${step.resourceName}" of ${step.collection} exists and was not made by this deployment.` }
  if (stored === undefined && step.manifest === undefined)
    return { refusal: `"${step.resourceName}" of ${step.collection} was deleted since the deployment was asked for.` }
  // Check the rights now, not only at the request: a component with dependencies may be written half an hour later.
  const spec = specOf(pass, step, stored, location.namespace)
  if ('refusal' in spec) return spec
  const surroundings = surroundingsOf(pass, kind, { ...(stored?.spec as Fields), ...spec.given }, location.namespace)
  const given = withSecrets(spec.given, { kind, stored, surroundings })
  const mergedSpec = { ...(stored?.spec as object | undefined), ...given }
  const isGiven = stored === undefined || !isHarmless(changedFields(stored.spec as Fields, given))
  const references = isGiven ? [mergedSpec, ...surroundings] : []
  const change = {
    step,
    spec: mergedSpec,
    references,
    entry,
    ref,
    group: location.namespace,
    isNew: stored === undefined,
  }
  const missingRight = await findMissingRight(pass, change)
  if (missingRight !== undefined) return { missingRight }
  const written = await write(pass, { step, kind, stored, spec: given }, location)
  return 'object' in written ? passVaultValue(pass, step, written.object, location) : written
}

type Fields = Readonly<Record<string, unknown>>

/** Returns the fields that the step writes, with late values filled in. */
function specOf(
  pass: ExecutionPass,
  step: ExecutionStep,
  stored: KubeObject | undefined,
  namespace: string,
): { given: Fields } | { refusal: string } {
  const json = stored === undefined ? step.manifest : (step.patch ?? step.manifest)
  const text = fillLateJson(pass, json ?? '{}', namespace)
  if (typeof text !== 'string') return text
  const given = tryParseJsonObject(text)
  return given === undefined
    ? { refusal: `What is to be made as "${step.resourceName}" is not a JSON object.` }
    : { given }
}

/** Returns what code receives from elsewhere: a function also has what its namespace has. */
function surroundingsOf(pass: ExecutionPass, kind: AnyKind, { namespaceName }: Fields, namespace: string): Fields[] {
  if (kind.kind !== ServerlessFunction.kind) return []
  const found = pass.records.cache(FunctionNamespace).get(namespace, String(namespaceName))
  return found === undefined ? [] : [found.spec as Fields]
}

/** The field that lists what code may be given, by kind. */
const SECRET_LIST_FIELDS = new Map([
  [ServerlessFunction.kind, 'namespaceSecrets'],
  [FunctionNamespace.kind, 'functionSecrets'],
])

type SecretContext = { kind: AnyKind; stored: KubeObject | undefined; surroundings: readonly Fields[] }

/**
 * Completes the list of what a function or its namespace may be given, as REST does; each entry is then checked for the
 * user who started the deployment. An existing object is not given more than before.
 */
function withSecrets(given: Fields, { kind, stored, surroundings }: SecretContext): Fields {
  const list = SECRET_LIST_FIELDS.get(kind.kind)
  if (list === undefined) return given
  const { [list]: requested = stored === undefined ? [] : undefined } = given
  // The API server refuses what is not a list.
  if (!Array.isArray(requested)) return given
  if (stored === undefined)
    return { ...given, [list]: [...new Set([...requested, ...surroundings.flatMap(secretsGivenTo)])] }
  const { [list]: before = [] } = stored.spec as Fields
  return { ...given, [list]: filterAllowedSecrets(requested, before as readonly string[]) }
}

type StepWrite = {
  readonly step: ExecutionStep
  readonly kind: AnyKind
  readonly stored: KubeObject | undefined
  readonly spec: Fields
}

async function write(
  pass: ExecutionPass,
  { step, kind, stored, spec }: StepWrite,
  { namespace }: StepLocation,
): Promise<StepWriteResult> {
  const { object: execution, records } = pass
  const { name: deploy, startedBy } = execution.spec
  const annotations = {
    [BLUEPRINT_ANNOTATION]: blueprintMark(deploy, step.component),
    [BLUEPRINT_EXECUTION_ANNOTATION]: keyOf(execution as unknown as KubeObject),
    [ACTOR_ANNOTATION]: `${(stored?.metadata.generation ?? 0) + 1} ${startedBy}`,
  }
  try {
    if (stored !== undefined) {
      const { uid, resourceVersion } = stored.metadata
      const patch = { metadata: { annotations }, spec }
      return { object: await records.client.mergePatch(kind.resource, refOf(stored), patch, { uid, resourceVersion }) }
    }
    const metadata = {
      ...refOfStep(pass, step, namespace),
      annotations: { ...annotations, [CREATED_BY_ANNOTATION]: startedBy },
    }
    const { apiVersion, kind: kindName } = kind
    return { object: await records.client.create(kind.resource, { apiVersion, kind: kindName, metadata, spec }) }
  } catch (error) {
    if (!isKubeError(error, 'Invalid', 'Forbidden')) throw error
    return {
      refusal: `"${step.resourceName}" of ${step.collection} was refused by the API server (HTTP ${error.status}).`,
    }
  }
}

/** Fills late values into the JSON text. */
function fillLateJson(pass: ExecutionPass, json: string, namespace: string): string | { refusal: string } {
  let missing: string | undefined
  const inJson = (value: string) => JSON.stringify(value).slice(1, -1)
  const text = fillDeferredValues(json, pass.object.spec.lateMark ?? '', (reference) => {
    if (reference.root !== 'components') return undefined
    const value = componentFieldValue(pass, reference, namespace)
    if (value === undefined) missing ??= `${reference.component}.${reference.field}`
    return value === undefined ? undefined : inJson(value)
  })
  return missing === undefined ? text : { refusal: `components.${missing} has no value.` }
}

/** Returns the value of another component's field; undefined if it has none. */
export function componentFieldValue(
  pass: ExecutionPass,
  { component, field }: { component: string; field: string },
  namespace: string,
): string | undefined {
  const step = pass.object.spec.steps.find((one) => one.component === component)
  const found = step && observedObjectOf(pass, step, namespace)
  if (step === undefined || found === undefined) return undefined
  if (field === 'name') return step.resourceName
  const kind = kindOf(step)
  if (field === 'id') return objectId({ group: kind?.resource.group ?? '', kind: found.kind }, found.metadata)
  return plainOutput(step.collection, found, field) ?? plainField(found, field)
}

/**
 * Passes a vault entry its value through a Secret that exists until the vault has taken it, so that in the end only the
 * vault holds the value.
 */
async function passVaultValue(
  pass: ExecutionPass,
  step: ExecutionStep,
  entry: KubeObject,
  location: StepLocation,
): Promise<StepWriteResult> {
  if (step.value === undefined) return { object: entry }
  let isKnown = true
  const text = fillDeferredValues(step.value, pass.object.spec.lateMark ?? '', (reference) => {
    const value =
      reference.root === 'parameters'
        ? location.parameters[reference.name]
        : componentFieldValue(pass, reference, location.namespace)
    isKnown &&= value !== undefined
    return value
  })
  if (!isKnown) return { refusal: `The value of "${step.resourceName}" is not known.` }
  const { valueFrom, history } = entry.spec as VaultEntry['spec']
  const ref = { namespace: location.namespace, name: valueFrom?.secretName ?? '' }
  const data = secretData({ [VALUE_KEY]: text })
  const stored = await readSecret({ workloads: pass.records }, ref.namespace, ref.name)
  const { uid, resourceVersion } = stored?.metadata ?? {}
  const isSame = stored?.data?.[VALUE_KEY] === data[VALUE_KEY]
  const isTaken = history?.source?.uid === uid && history?.source?.resourceVersion === resourceVersion
  if (stored !== undefined && isSame && isTaken) return { object: entry }
  if (stored === undefined) await pass.records.client.create(secret, opaqueSecret(ref, data))
  else if (!isSame) await pass.records.client.mergePatch(secret, ref, { data }, { uid, resourceVersion })
  return { object: entry, awaits: 'Its value is on its way into the vault.' }
}

/** Without owner and labels of ours: a vault takes no Secret that belongs to something else. */
function opaqueSecret(metadata: { namespace: string; name: string }, data: SecretData): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data }
}

/** Deletes the Secret that passed a value to a vault. */
export async function deleteValueSecret(pass: ExecutionPass, step: ExecutionStep, namespace: string): Promise<void> {
  if (step.value === undefined) return
  await pass.records.client.remove(secret, { namespace, name: valueSecretName(step.objectName) })
}
