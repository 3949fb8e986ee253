import { OWNER_KIND_LABEL, OWNER_NAME_LABEL, PREFIX } from '../core/labels.ts'
import { sha256 } from '../core/names.ts'
import type { KubeObject, ObjectMeta } from '../core/object.ts'

/** What all resources that run pods have in common. */

/** Labels that select the pods and volume claims of one resource in its namespace. */
export function ownerSelector(kind: string, name: string): Record<string, string> {
  return { [OWNER_KIND_LABEL]: kind, [OWNER_NAME_LABEL]: name }
}

/** The same in the form of a list request. */
export function ownerLabelSelector(kind: string, name: string): string {
  const pairs = Object.entries(ownerSelector(kind, name))
  return pairs.map(([label, value]) => `${label}=${value}`).join(',')
}

/** Whether these are the labels of a pod or volume claim of the resource. */
export function isOwnedBy({ labels }: Pick<ObjectMeta, 'labels'>, kind: string, name: string): boolean {
  return Object.entries(ownerSelector(kind, name)).every(([label, value]) => labels?.[label] === value)
}

/** The claim template of every StatefulSet of ours; claims are `storage-<stateful set>-<ordinal>`. */
export const STORAGE_VOLUME = 'storage'

export function claimName(workload: string, ordinal: number): string {
  return `${STORAGE_VOLUME}-${workload}-${ordinal}`
}

/** The ordinal of a pod or claim of this StatefulSet; undefined for any other name. */
export function ordinalOf(workload: string, podOrClaim: string): number | undefined {
  for (const stem of [`${STORAGE_VOLUME}-${workload}-`, `${workload}-`]) {
    const rest = podOrClaim.startsWith(stem) ? podOrClaim.slice(stem.length) : ''
    if (/^(0|[1-9][0-9]{0,3})$/.test(rest)) return Number(rest)
  }
  return undefined
}

/** Label on pods that mount the volumes of a resource, through which its files are read and written. */
export const FILES_LABEL = `${PREFIX}files`

/** Label on a StorageClass, set by the administrator: pods on several nodes can mount one volume (ReadWriteMany). */
export const SHARED_VOLUMES_LABEL = `${PREFIX}shared-volumes`

const DEFAULT_CLASS_ANNOTATION = 'storageclass.kubernetes.io/is-default-class'

/** Whether pods on several nodes can mount one volume of the class, or of the default one if none is named. */
export function hasSharedVolumes(classes: readonly KubeObject[], className: string | undefined): boolean {
  const found = classes.find(({ metadata: { name, annotations } }) =>
    className === undefined ? annotations?.[DEFAULT_CLASS_ANNOTATION] === 'true' : name === className,
  )
  return found?.metadata.labels?.[SHARED_VOLUMES_LABEL] === 'true'
}

/**
 * Returns the suffix of hosts that people of a boundary may choose, such as `-5d0f8a52.apps.example.com`: all others
 * below the domain belong to the platform or are generated for resources of other boundaries.
 */
export function hostSuffixOf(boundaryId: string, clusterDomain: string): string {
  return `-${boundaryId.slice(0, 8)}.${clusterDomain}`
}

export function isHostOf(boundaryId: string, host: string, clusterDomain: string): boolean {
  const suffix = hostSuffixOf(boundaryId, clusterDomain)
  return host.length > suffix.length && host.endsWith(suffix)
}

/**
 * Returns the public host of a resource that names none. The hash covers the namespace, so that a tenant cannot aim at
 * another's host. The longest resource name still fits into the 63 characters of a label (52 + 9).
 */
export function defaultHost(collection: string, namespace: string, name: string, clusterDomain: string): string {
  return `${name}-${sha256(`${collection}/${namespace}/${name}`).slice(0, 8)}.${clusterDomain}`
}

/** Returns the URL of a public host. @param port that of the cluster; 443 if absent */
export function publicUrl(host: string, port = 443): string {
  return port === 443 ? `https://${host}` : `https://${host}:${port}`
}

/** The domain of cluster DNS: a host below it would be that of a Service. */
const CLUSTER_DNS_DOMAIN = 'cluster.local'

/** Returns the domain of the platform that a host equals or lies below: one of a cluster, or of cluster DNS. */
export function platformDomainOf(host: string, clusterDomains: readonly string[]): string | undefined {
  const domains = [...clusterDomains, CLUSTER_DNS_DOMAIN].filter((domain) => domain !== '')
  return domains.find((domain) => host === domain || host.endsWith(`.${domain}`))
}

/** Advice for somebody who owns a domain that another resource has. */
export const HOST_OWNER_ADVICE = 'If its domain is yours, an administrator of the platform can have it released.'
