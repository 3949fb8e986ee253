import { identityCopyName, managedIdentityId } from '../../contracts/managedIdentities.ts'
import { FINALIZER } from '../../core/labels.ts'
import { type ObjectMeta, objectKey, refOf } from '../../core/object.ts'
import { done, type Outcome, waiting } from '../../core/outcome.ts'
import type { AnyKind } from '../../crds/define.ts'
import { isWorkloadOf, ManagedIdentity } from '../../crds/managedidentities.ts'
import { boundTo } from '../../desired/managedidentities.ts'
import { secret } from '../../kube/builtin.ts'
import { alreadyThere } from '../../kube/errors.ts'
import type { Observed, Rights } from '../engine/controller.ts'
import { otherClusterOf } from '../engine/whereabouts.ts'
import { placeOfPass, type WorkloadPass } from './pass.ts'
import { readSecret, withSecretRights } from './secrets.ts'

type Cached = ManagedIdentity & { [key: string]: unknown }

/** A pass over what may have an identity. */
type IdentifiedPass = Pick<WorkloadPass, 'kind' | 'records' | 'children'> & {
  readonly object: { readonly metadata: ObjectMeta; readonly spec: { readonly managedIdentity: boolean } }
  /** Is told the Secret with the credentials. */
  readonly state: { identitySecret: string | undefined }
}

export const IDENTITY_RIGHTS: Rights = { resource: ManagedIdentity.resource, verbs: ['create', 'patch'] }

export function identityObserver({ segment }: AnyKind): Observed {
  return {
    resource: ManagedIdentity.resource,
    keysOf: ({ metadata, spec }) => {
      const { resourceType, resourceName = '' } = spec as Partial<ManagedIdentity['spec']>
      return resourceType === segment ? [objectKey(metadata.namespace, resourceName)] : []
    },
  }
}

function identityOf({ kind, object, records }: IdentifiedPass): Cached | undefined {
  const { namespace } = placeOfPass({ object })
  return records
    .cache(ManagedIdentity)
    .list({ namespace })
    .find((each) => each.spec.resourceType === kind.segment && isWorkloadOf(object, each))
}

/**
 * Takes the credentials away where they are not wanted any more: assignments that name the identity stay. It runs before
 * whatever may stop a pass, as what opens something must not stay because of a quota or a name.
 */
export async function withdrawIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (pass.object.spec.managedIdentity) return done()
  const found = identityOf(pass)
  if (found?.spec.mounted === true) await mount(pass, found, false)
  return withSecretRights(() => removeIdentity(pass))
}

/** Has the identity of a resource made, with its credentials in the group. It goes with the resource. */
export async function keepIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (!pass.object.spec.managedIdentity) return done()
  const found = identityOf(pass)
  if (found === undefined) return make(pass)
  if (!found.spec.mounted) await mount(pass, found, true)
  if (found.spec.mounted !== true || found.status?.mounted !== true)
    return waiting('WaitingForDependency', 'The credentials of its managed identity are being made.')
  pass.state.identitySecret = identityCopyName(found.metadata.name)
  return isElsewhere(pass) ? withSecretRights(() => bring(pass, identityCopyName(found.metadata.name))) : done()
}

const isElsewhere = ({ object, records }: IdentifiedPass) => otherClusterOf(object, records) !== undefined

/** Pods of another cluster mount what its own cluster has for them; each new version wakes the resource by its identity. */
async function bring({ object, records, children }: IdentifiedPass, name: string): Promise<Outcome> {
  const { namespace } = placeOfPass({ object })
  const here = await readSecret({ workloads: records }, namespace, name)
  if (here === undefined)
    return waiting('WaitingForDependency', 'The credentials of its managed identity are being made.')
  const desired = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, type: 'Opaque', data: here.data }
  await children.ensure(desired, { resource: secret })
  return done()
}

/** Takes the credentials away from another cluster. On the platform's own they are the identity's. */
export async function removeIdentity(pass: IdentifiedPass): Promise<Outcome> {
  if (!isElsewhere(pass)) return done()
  const { namespace } = placeOfPass(pass)
  const id = identityOf(pass)?.metadata.name ?? managedIdentityId(namespace, pass.object.metadata.uid ?? '')
  await pass.children.remove(secret, namespace, identityCopyName(id))
  return done()
}

async function make({ object, records, ...pass }: IdentifiedPass): Promise<Outcome> {
  const { namespace, name } = placeOfPass({ object, ...pass })
  const resourceUid = object.metadata.uid ?? ''
  const identity = {
    apiVersion: ManagedIdentity.apiVersion,
    kind: ManagedIdentity.kind,
    // From the first moment with the finalizer: one deleted before its controller saw it would leave its account behind. And
    // bound: one whose resource goes before its controller saw either would stay for ever.
    metadata: {
      ...boundTo({ apiVersion: pass.kind.apiVersion, kind: pass.kind.kind, metadata: object.metadata }),
      ...{ name: managedIdentityId(namespace, resourceUid), namespace, finalizers: [FINALIZER] },
    },
    spec: {
      resourceName: name,
      resourceType: pass.kind.segment as ManagedIdentity['spec']['resourceType'],
      resourceUid,
      secretVersion: 1,
      mounted: true,
    },
  }
  // Where the cache is behind, its change wakes us.
  await records.client.create(ManagedIdentity.resource, identity).catch(alreadyThere)
  return waiting('WaitingForDependency', 'Its managed identity is being made.')
}

/** With new credentials either way: those before could not be read, or were seen by its code. */
async function mount({ records }: IdentifiedPass, found: Cached, mounted: boolean): Promise<void> {
  if (found.metadata.deletionTimestamp !== undefined) return
  const { uid, resourceVersion } = found.metadata
  const patch = { spec: { mounted, secretVersion: found.spec.secretVersion + 1 } }
  await records.client.mergePatch(ManagedIdentity.resource, refOf(found), patch, { uid, resourceVersion })
}
