import { ownerSelector } from '../../contracts/workloads.ts'
import { sourceRanges } from '../../core/cidr.ts'
import { MANAGED_BY, MANAGED_BY_LABEL } from '../../core/labels.ts'
import type { KubeObject, ObjectMeta } from '../../core/object.ts'
import type { SecretData } from '../../core/secretData.ts'

/** What all children of one resource share. `Names` are the names of its children. */
export type WorkloadInput<Names = unknown> = {
  namespace: string
  names: Names
  labels: Readonly<Record<string, string>>
  /** Selects the pods and volume claims; immutable, as selectors are. */
  selector: Readonly<Record<string, string>>
  /** Whether clients outside the cluster may connect. */
  isPublic: boolean
  /** Networks from which they may connect; undefined for all. */
  ranges: readonly string[] | undefined
}

type WorkloadObject = Pick<KubeObject, 'kind' | 'metadata'> & {
  spec: { enableLoadBalancer?: boolean; allowedCidrs?: string | undefined }
}

/** @param app value of `app.kubernetes.io/name` */
export function workloadInput<Names>(object: WorkloadObject, names: Names, app: string): WorkloadInput<Names> {
  const { kind, metadata, spec } = object
  const { name, namespace = '' } = metadata
  const selector = ownerSelector(kind, name)
  return {
    namespace,
    names,
    labels: {
      ...selector,
      [MANAGED_BY_LABEL]: MANAGED_BY,
      'app.kubernetes.io/name': app,
      'app.kubernetes.io/instance': name,
    },
    selector,
    isPublic: spec.enableLoadBalancer === true,
    ranges: sourceRanges(spec.allowedCidrs),
  }
}

/** A child before it has an owner: name, namespace, labels and the fields that we set. */
export type Child<Kind extends string = string, Fields extends object = { spec: Record<string, unknown> }> = {
  apiVersion: string
  kind: Kind
  metadata: ObjectMeta
} & Fields

type Identity<Kind extends string> = {
  apiVersion: string
  kind: Kind
  name: string
  /** In addition to those of every child. */
  labels?: Record<string, string>
  annotations?: Record<string, string> | undefined
}

/** Builds a child in its resource's namespace, with its labels. */
export function child<Kind extends string, Fields extends object>(
  { namespace, labels }: Pick<WorkloadInput, 'namespace' | 'labels'>,
  { apiVersion, kind, name, labels: more, annotations = {} }: Identity<Kind>,
  fields: Fields,
): Child<Kind, Fields> {
  const metadata: ObjectMeta = { name, namespace, labels: { ...labels, ...more } }
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations
  return { apiVersion, kind, metadata, ...fields }
}

export function configMap(input: WorkloadInput, name: string, data: Record<string, string>) {
  return child(input, { apiVersion: 'v1', kind: 'ConfigMap', name }, { data })
}

export function secret(
  input: Pick<WorkloadInput, 'namespace' | 'labels'>,
  name: string,
  data: SecretData,
  { type = 'Opaque', labels = {} }: { type?: string; labels?: Record<string, string> } = {},
) {
  return child(input, { apiVersion: 'v1', kind: 'Secret', name, labels }, { type, data })
}
