import { RESOURCE_NAME_MAX_LENGTH, RESOURCE_NAME_PATTERN, UUID_PATTERN } from '../core/names.ts'
import type { KubeObject } from '../core/object.ts'
import { type AnyKind, API_VERSION, brokenRules, type Column, type DeclaredRule, isTransitionRule } from './define.ts'
import { type StructuralSchema, structuralSchema } from './structural.ts'

/** The CustomResourceDefinition of a kind, as `npm run generate` writes it. */
export function crdManifest(kind: AnyKind): KubeObject {
  const { group, plural } = kind.resource
  const schema = rootSchema(kind)
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      labels: { 'app.kubernetes.io/part-of': 'freehold', 'app.kubernetes.io/component': 'crds' },
    },
    spec: {
      group,
      scope: kind.placement === 'cluster' ? 'Cluster' : 'Namespaced',
      names: {
        plural,
        singular: kind.kind.toLowerCase(),
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        shortNames: kind.shortNames,
        categories: [categoryOf(kind)],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: [...kind.columns.map((column) => printerColumn(column, schema)), AGE],
          ...(kind.selectable === undefined
            ? {}
            : { selectableFields: kind.selectable.map((path) => ({ jsonPath: `.${path}` })) }),
          subresources: subresources(kind),
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  }
}

/** `freehold` is what readers of a tenant's namespace list, `kubectl get freehold`; the other is for administrators. */
function categoryOf({ placement, actions, forms = {} }: AnyKind): string {
  const isOfTenants = placement === 'group' || placement === 'boundary' || placement === 'boundaryOrPlatform'
  const isListed = actions !== undefined || Object.values(forms).some((verbs) => verbs.includes('list'))
  return isOfTenants && isListed ? 'freehold' : 'freehold-platform'
}

const AGE = {
  name: 'Age',
  type: 'date',
  description: 'How long ago it was created',
  jsonPath: '.metadata.creationTimestamp',
}

function printerColumn(column: Column, schema: StructuralSchema): object {
  return {
    name: column.name,
    type: column.type ?? 'string',
    description: column.description ?? descriptionAt(schema, column.path),
    jsonPath: column.path.startsWith('.') ? column.path : `.${column.path}`,
    ...(column.priority === undefined ? {} : { priority: column.priority }),
  }
}

/** Returns the description of the field at a path, or of the nearest parent that has one. */
function descriptionAt(root: StructuralSchema, path: string): string | undefined {
  let at: StructuralSchema | undefined = root
  let meaning: string | undefined
  // The filter that selects an entry of a list contains dots as well.
  for (const [, name = '', entry] of path.matchAll(/([^.[\]]+)(\[[^\]]*\])?/g)) {
    at = (at.properties as Record<string, StructuralSchema> | undefined)?.[name]
    if (entry !== undefined) at = at?.items as StructuralSchema | undefined
    if (at === undefined) break
    meaning = (at.description as string | undefined) ?? meaning
  }
  return meaning
}

function subresources(kind: AnyKind): object {
  if (kind.scale === undefined) return { status: {} }
  return {
    status: {},
    scale: {
      specReplicasPath: kind.scale.replicas,
      statusReplicasPath: kind.scale.ready,
      labelSelectorPath: kind.scale.selector,
    },
  }
}

/** Returns the schema of the kind's objects. */
export function rootSchema(kind: AnyKind): StructuralSchema {
  const spec = structuralSchema(kind.spec, `${kind.kind}.spec`)
  // If every field has a default, `kubectl apply` of a manifest without a spec means the defaults.
  const defaults = kind.spec.safeParse({})
  // Unless a rule refuses the defaults: then a spec is required.
  const isEnough = defaults.success && brokenRules(kind as never, defaults.data as never).length === 0
  if (isEnough) spec.default = defaults.data
  const rules = kind.rules as readonly DeclaredRule<unknown>[]
  if (rules.length > 0) spec['x-kubernetes-validations'] = rules.map(validation)
  return {
    type: 'object',
    description: kind.description,
    ...(isEnough ? {} : { required: ['spec'] }),
    properties: {
      apiVersion: { type: 'string', description: `Group and version of the schema: ${kind.apiVersion}` },
      kind: { type: 'string', description: `What the object is: ${kind.kind}` },
      // Declared, so that a rule at the root can use the name. The API server refuses a description of metadata itself.
      metadata: {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 253, description: NAME_DESCRIPTION[kind.name] } },
      },
      spec: { ...spec, description: `Desired state of the ${kind.kind}` },
      status: {
        ...structuralSchema(kind.status, `${kind.kind}.status`),
        description: `Observed state of the ${kind.kind}, written by the platform`,
        ...(isReconciled(kind) ? { default: NOT_OBSERVED } : {}),
      },
    },
    ...nameRule(kind),
  }
}

/** Until the first pass, kstatus and its users must not take a new object for a reconciled one. */
const NOT_OBSERVED = { observedGeneration: -1 }

/** Whether a controller writes the status of the kind. */
export function isReconciled({ status }: AnyKind): boolean {
  return 'observedGeneration' in status.shape
}

const NAME_DESCRIPTION = {
  resource: `Name of the object: an RFC 1123 label of at most ${RESOURCE_NAME_MAX_LENGTH} characters; immutable`,
  uuid: 'Name of the object: a uuid in lower case; immutable',
  free: 'Name of the object; immutable',
}

function validation(rule: DeclaredRule<unknown>): object {
  const { message } = rule
  return { ...validationOnChange(rule), message, fieldPath: `.${rule.field}`, reason: 'FieldValueInvalid' }
}

/** Applies on creation, and on an update that changes a field that the rule checks. */
function validationOnChange(rule: DeclaredRule<unknown>): object {
  if (isTransitionRule(rule)) return { rule: rule.cel }
  const isKept = rule.asksAbout.map(
    (field) => `has(o.${field}) == has(self.${field}) && (!has(self.${field}) || o.${field} == self.${field})`,
  )
  return {
    rule: `oldSelf.optMap(o, ${isKept.join(' && ')}).orValue(false) || (${rule.cel})`,
    optionalOldSelf: true,
  }
}

function nameRule(kind: AnyKind): object {
  if (kind.name === 'free') return {}
  const [pattern, message] =
    kind.name === 'uuid'
      ? [UUID_PATTERN, 'the name of this kind is a uuid in lower case']
      : [RESOURCE_NAME_PATTERN, `the name is an RFC 1123 label of at most ${RESOURCE_NAME_MAX_LENGTH} characters`]
  const rule = `self.metadata.name.matches('${pattern}')`
  return { 'x-kubernetes-validations': [{ rule, message, fieldPath: '.metadata.name', reason: 'FieldValueInvalid' }] }
}
