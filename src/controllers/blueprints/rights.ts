import { parsedObject } from '../../core/parsedJson.ts'
import { parseScope } from '../../core/scope.ts'
import type { BlueprintCollection } from '../../crds/blueprintCollections.ts'
import type { BlueprintExecution, ExecutionStep } from '../../crds/blueprints.ts'
import { KINDS } from '../../crds/index.ts'
import { meansPresent, PRINCIPAL_RESOURCES, type PrincipalLookup } from '../../crds/principals.ts'
import { RoleAssignment, RoleDefinition } from '../../crds/rbac.ts'
import { type AccessQuestion, isAccessAllowed, subjectAccessReview } from '../../kube/accessReview.ts'
import type { Pass, Rights } from '../engine/controller.ts'

/** What it takes to ask. */
export const ASKING_READS = PRINCIPAL_RESOURCES
export const ASKING_RIGHTS: readonly Rights[] = [{ resource: subjectAccessReview, verbs: ['create'], in: 'records' }]

type Asked = Omit<AccessQuestion, 'user'>
type Written = {
  readonly step: Pick<ExecutionStep, 'body' | 'manifest'>
  readonly entry: BlueprintCollection
  readonly ref: { readonly namespace: string; readonly name: string }
  /** Namespace of the group that the deployment is in. */
  readonly group: string
  readonly isNew: boolean
}

/**
 * What kubectl would need for the same write. A part whose name does not tell what holds it is asked about at that one;
 * a role at the scope that it is for, by the virtual verb `grant`.
 */
export function questionOf({ step, entry, ref, group, isNew }: Written): Asked {
  const { kind, part } = entry
  const { resource, partOf } = kind
  if (kind.kind === RoleAssignment.kind) return grantQuestion(step, group)
  if (isNew && part !== undefined && partOf !== undefined && 'verb' in partOf) {
    const holder = KINDS.find(({ segment }) => segment === partOf.collection)
    const name = String(parsedObject(step.body)?.[part.parentField] ?? '')
    if (holder !== undefined)
      return { verb: partOf.verb, group: resource.group, resource: holder.plural, namespace: ref.namespace, name }
  }
  const verb = isNew ? 'create' : 'patch'
  return { verb, group: resource.group, resource: resource.plural, ...ref }
}

function grantQuestion({ manifest }: Written['step'], namespace: string): Asked {
  const { roleDefinitionName, scope } = parsedObject(manifest ?? '') ?? {}
  const parsed = parseScope(String(scope))
  const { group, plural: resource } = RoleDefinition.resource
  const subresource = parsed?.level === 'resource' ? { subresource: `${parsed.collection}/${parsed.name}` } : {}
  return { verb: 'grant', group, resource, ...subresource, namespace, name: String(roleDefinitionName ?? '') }
}

/** Whether whoever started the deployment may still write the component, and is the same one as then. */
export async function mayStill(pass: Pass<typeof BlueprintExecution>, written: Written): Promise<boolean> {
  const { object, records } = pass
  const { startedBy } = object.spec
  const find: PrincipalLookup = (resource, namespace, name) => records.cache(resource).get(namespace, name)
  if (!meansPresent(find, object, startedBy)) return false
  return isAccessAllowed(records.client, { user: `p:${startedBy}`, ...questionOf(written) })
}
