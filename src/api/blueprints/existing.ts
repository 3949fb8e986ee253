import { parseVaultReference } from '../../contracts/jobs.ts'
import { storeBucketName } from '../../contracts/objectstorage.ts'
import { PlatformError } from '../../core/errors.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { AccountBucket } from '../../crds/objectstorage.ts'
import {
  type Reference,
  refuseMissingReferences,
  type UncachedObjects,
  uncachedKey,
  withUncachedReferences,
} from '../resources/references.ts'
import { unprocessable } from '../resources/sizing.ts'
import type { DeploymentTarget, LocatedComponent } from './mapping.ts'

/**
 * The parent of a part must exist or be created by the same deployment. Checked after the rights on the parent, so that
 * the answer does not reveal which names exist.
 * @throws PlatformError REFERENCE_NOT_FOUND
 */
export async function requireParentExists(
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
export async function listMissingDependencies(
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
