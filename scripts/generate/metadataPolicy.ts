import { FILL_FIELD_MANAGER } from '../../src/controllers/engine/filledFields.ts'
import { INCARNATION_ANNOTATION } from '../../src/core/labels.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import {
  CALLER_VARIABLES,
  CONTROLLERS_ACCOUNT,
  FACADE_ACCOUNT,
  NOT_OURS,
  policyWithBinding,
  ruleFor,
} from './policy.ts'

/** Limits on the labels and annotations of a tenant's object. */
export const METADATA_ENTRIES_MAX = 64
/**
 * Limit on managers of server-side apply per object; Kubernetes limits those of updates itself. Only a write that adds
 * one is refused, so that filling up an object blocks neither others' edits nor the removal of managers.
 */
export const FIELD_MANAGERS_MAX = 32
/** The platform's field managers: only the platform may remove the fields that they own. */
const OWN_MANAGERS = [CONTROLLERS_ACCOUNT, FACADE_ACCOUNT, FILL_FIELD_MANAGER]

export const METADATA_REFUSALS = {
  // For administrators too: kubectl removes annotations that a manifest lacks, and losing this one loses rights and
  // namespaces.
  incarnation: `the annotation ${INCARNATION_ANNOTATION} stays as it is: what is granted at the object, and what is made for it, is known by it. If an apply would take it away, apply afresh after kubectl patch --type=merge -p '{"metadata":{"managedFields":[{}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":null}}}'`,
  finalizers: 'finalizers of objects of the platform are written by the platform only',
  ownerReferences: 'owner references of objects of the platform are written by the platform only',
  labels: `an object has at most ${METADATA_ENTRIES_MAX} labels`,
  annotations: `an object has at most ${METADATA_ENTRIES_MAX} annotations`,
  backups:
    'labels and annotations of Velero (velero.io/) are written by administrators of the cluster only: the platform is backed up as they say',
  managers: `an object has at most ${FIELD_MANAGERS_MAX} field managers of server-side apply: apply as one of them, or drop them all with kubectl patch --type=merge -p '{"metadata":{"managedFields":[{}]}}'`,
  orphans: 'what belongs to an object of the platform is deleted with it: it cannot be orphaned',
  ownManagers: `the field managers ${OWN_MANAGERS.join(', ')} are the platform's own`,
} as const

const list = (object: string, field: string) => `${object}.metadata.?${field}.orValue([])`
const map = (field: string, object = 'object') => `${object}.metadata.?${field}.orValue({})`

/** Keys that Velero obeys in the objects that it backs up. */
const VELERO = '^([^/]*[.])?velero[.]io/'

/** No entry with such a key may be added or changed; restored objects have some, and may lose them. */
function celNoneAdded(field: 'labels' | 'annotations', pattern: string): string {
  const [next, old] = [map(field), map(field, 'oldObject')]
  return `${next}.all(k, !k.matches('${pattern}') || (request.operation == 'UPDATE' && k in ${old} && ${old}[k] == ${next}[k]))`
}

/**
 * Metadata is input like the spec. An owner reference to a missing object makes the garbage collector delete what its
 * writer may not; a finalizer keeps what others delete; the rest is limited in size. Administrators may write what they
 * can take back, but nobody may have the garbage collector delete for them.
 */
export function metadataPolicy(kinds: readonly AnyKind[]): KubeObject[] {
  const isUpdate = "request.operation == 'UPDATE'"
  const owners = { next: list('object', 'ownerReferences'), old: list('oldObject', 'ownerReferences') }
  const keepsOwners = `${owners.next} == (${isUpdate} ? ${owners.old} : [])`
  const addsNoOwner = `${owners.next}.all(o, ${isUpdate} && ${owners.old}.exists(p, p.uid == o.uid))`
  const finalizer = `${list('object', 'finalizers')}.all(f, ${isUpdate} && f in ${list('oldObject', 'finalizers')})`
  const managers = { next: list('object', 'managedFields'), old: list('oldObject', 'managedFields') }
  const applied = (list: string) => `${list}.filter(m, m.?operation.orValue('') == 'Apply')`
  const appliers = { next: applied(managers.next), old: applied(managers.old) }
  const addsNoApplier = `${isUpdate} && ${appliers.next}.all(m, ${appliers.old}.exists(p, p.?manager.orValue('') == m.?manager.orValue('')))`
  const options = 'dyn(request.?options.orValue({}))'
  const own = OWN_MANAGERS.map((manager) => `'${manager}'`).join(', ')
  const isOurs = (entry: string) => `(${entry}.?manager.orValue('') in [${own}])`
  const isKnown = `${isUpdate} && ${managers.old}.exists(p, p.?manager.orValue('') == m.?manager.orValue(''))`
  const life = (object: string) => `${map('annotations', object)}[?'${INCARNATION_ANNOTATION}'].orValue('')`
  const rules: [keyof typeof METADATA_REFUSALS, string][] = [
    ['incarnation', `!(${isUpdate}) || ${life('oldObject')} in ['', ${life('object')}]`],
    ['finalizers', `variables.isAdministrator || ${finalizer}`],
    ['ownerReferences', `variables.isAdministrator ? ${addsNoOwner} : ${keepsOwners}`],
    ['labels', `variables.isAdministrator || size(${map('labels')}) <= ${METADATA_ENTRIES_MAX}`],
    ['annotations', `variables.isAdministrator || size(${map('annotations')}) <= ${METADATA_ENTRIES_MAX}`],
    [
      'backups',
      `variables.isAdministrator || (${celNoneAdded('labels', VELERO)} && ${celNoneAdded('annotations', VELERO)})`,
    ],
    ['managers', `variables.isAdministrator || size(${appliers.next}) <= ${FIELD_MANAGERS_MAX} || (${addsNoApplier})`],
    [
      'ownManagers',
      `variables.isAdministrator || (!(${options}.?fieldManager.orValue('') in [${own}]) && ${managers.next}.all(m, !${isOurs('m')} || (${isKnown})))`,
    ],
  ]
  const orphans = `(${options}.?propagationPolicy.orValue('') == 'Orphan' || ${options}.?orphanDependents.orValue(false))`
  return [
    ...policyWithBinding({
      name: 'freehold-metadata',
      rules: [ruleFor(kinds, ['CREATE', 'UPDATE'])],
      matchConditions: NOT_OURS,
      variables: CALLER_VARIABLES,
      validations: rules.map(refusal),
    }),
    // Orphaned dependents would count in no quota, and a new object of the name would find them.
    ...policyWithBinding({
      name: 'freehold-orphans',
      rules: [ruleFor(kinds, ['DELETE'])],
      matchConditions: NOT_OURS,
      variables: CALLER_VARIABLES,
      validations: [refusal(['orphans', `variables.isAdministrator || !${orphans}`])],
    }),
  ]
}

function refusal([name, expression]: [keyof typeof METADATA_REFUSALS, string]) {
  return { expression, message: METADATA_REFUSALS[name], reason: 'Forbidden' as const }
}
