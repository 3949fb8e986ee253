import { isDeepStrictEqual } from 'node:util'
import { parseVaultReference } from '../../contracts/jobs.ts'
import { ACTIONS_OF_SECRETS } from '../../contracts/namespaceSecrets.ts'
import { isSecretOutput, type ResourceOutput, verbOfOutput } from '../../contracts/references.ts'
import { isRecord } from '../../core/isRecord.ts'
import { OUTPUT_RESOURCES, secretsResourceOf } from '../../crds/referenceAdmission.ts'
import type { AccessReviewRequest } from '../../kube/accessReview.ts'

type AccessQuestion = Omit<AccessReviewRequest, 'user'>
/** Fields that decide neither which code runs nor what it is given: changing only these reveals no value. */
const HARMLESS_FIELDS = new Set([
  ...['computePlan', 'replicas', 'minReplicas', 'maxReplicas', 'running', 'tags'],
  ...['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit', 'storageSize'],
])
export const isHarmless = (given: Spec): boolean => Object.keys(given).every((field) => HARMLESS_FIELDS.has(field))

/** Returns the fields of a merge patch that change something: a deployment sends everything in its template. */
export function changedFields(before: Spec, patch: Spec): Spec {
  return Object.fromEntries(Object.entries(patch).filter(([name, to]) => isChange(before[name], to)))
}

function isChange(before: unknown, to: unknown): boolean {
  if (to === null) return before !== undefined && before !== null
  if (!isRecord(to)) return !isDeepStrictEqual(before, to)
  return !isRecord(before) || Object.entries(to).some(([name, part]) => isChange(before[name], part))
}

type Spec = Readonly<Record<string, unknown>>
/** Namespaces of the target group and of its boundary. */
type TargetNamespaces = { readonly group: string; readonly boundary: string }

const DATA_GROUP = 'data.freehold.dev'

/**
 * Returns the access reviews for what a spec refers to: vault values, outputs, an identity, source credentials. The
 * account that writes components is exempt from admission, so it asks the same questions as kubectl's webhook, each
 * once.
 */
export function referenceAccessReviews(spec: Spec, { group, boundary }: TargetNamespaces): AccessQuestion[] {
  const readVault = (name: string): AccessQuestion => ({
    ...{ verb: 'readsecrets', group: DATA_GROUP, resource: 'secretvaults', namespace: group, name },
  })
  const parts = recordsIn(Object.values(spec))
  const found = [
    ...vaultsOf(spec, parts).map(readVault),
    ...outputsOf(parts).flatMap((output) => outputQuestion(output, group)),
    ...(spec.managedIdentity === true
      ? [{ verb: 'readsecrets', group: 'iam.freehold.dev', resource: 'managedidentities', namespace: group }]
      : []),
    ...[spec.namespaceSecrets, spec.functionSecrets]
      .flatMap((list) => (Array.isArray(list) ? list : []))
      .flatMap((each) => secretQuestion(String(each), group)),
    ...(typeof spec.deploymentSourceId === 'string' ? [sourceUseQuestion(spec.deploymentSourceId, boundary)] : []),
  ]
  return [...new Map(found.map((question) => [JSON.stringify(question), question])).values()]
}

/** For an entry in the list of what a function may be given: one object of a collection, or the whole collection. */
function secretQuestion(secret: string, namespace: string): AccessQuestion[] {
  const [collection = '', name] = secret.split('/')
  if (!ACTIONS_OF_SECRETS.has(collection)) return []
  const [group, resource, verb] = secretsResourceOf(collection)
  return [{ verb, group, resource, namespace, ...(name !== undefined && { name }) }]
}

function sourceUseQuestion(name: string, namespace: string): AccessQuestion {
  return { verb: 'use', group: 'delivery.freehold.dev', resource: 'deploymentsources', namespace, name }
}

function outputQuestion(output: ResourceOutput, namespace: string): AccessQuestion[] {
  const { collection, name } = output
  const place = Object.hasOwn(OUTPUT_RESOURCES, collection) ? OUTPUT_RESOURCES[collection] : undefined
  if (place === undefined) return []
  const [group, resource] = place
  return [{ verb: verbOfOutput(collection, isSecretOutput(output)), group, resource, namespace, name }]
}

/** Returns the vaults that nested records refer to. At the top level, `vaultName` is the vault that holds an entry. */
function vaultsOf(spec: Spec, parts: readonly Spec[]): string[] {
  const named = parts.flatMap(({ vaultName }) => (typeof vaultName === 'string' ? [vaultName] : []))
  // In a job's environment, references are strings.
  const texts = isRecord(spec.env) ? Object.values(spec.env) : []
  const inTexts = texts.flatMap((text) => (typeof text === 'string' ? (parseVaultReference(text)?.vault ?? []) : []))
  return [...named, ...inTexts]
}

function outputsOf(parts: readonly Spec[]): ResourceOutput[] {
  return parts.flatMap(({ output }) => (isRecord(output) ? [output as ResourceOutput] : []))
}

function recordsIn(parts: readonly unknown[]): Spec[] {
  return parts.flatMap((part) => {
    if (Array.isArray(part)) return recordsIn(part)
    return isRecord(part) ? [part, ...recordsIn(Object.values(part))] : []
  })
}
