import { configKey, INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { childName, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { PlatformComponent } from '../../crds/lifecycle.ts'

/** What Flux is told of a component (https://fluxcd.io/flux/components/helm/helmreleases, and .../source/ocirepositories). */

/** Both objects of a component. */
export function fluxName(component: string): string {
  return childName('pcomp', component)
}

/** It tells of changes itself; this is for what it misses, and for charts that were changed by hand. */
const INTERVAL = '1h'
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
/** How long Helm waits for what it installed; batches of rollouts end at the same times. */
const TIMEOUT = { chart: '30m', own: '10m' }

type Component = Pick<PlatformComponent, 'metadata' | 'spec'>
/** Where charts are really taken from. */
export type ChartPlace = { readonly url: string; readonly isInsecure: boolean }

/**
 * Where the chart of a component comes from.
 *
 * @param digest what the version was when it was first seen: a tag that moved is not installed
 */
export function ociRepositoryOf(
  { metadata, spec }: Component,
  { url, isInsecure }: ChartPlace,
  digest: string | undefined,
): KubeObject {
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'OCIRepository',
    metadata: { name: fluxName(metadata.name), namespace: SYSTEM_NAMESPACE },
    spec: {
      url,
      interval: INTERVAL,
      ...(isInsecure && { insecure: true }),
      ref: { tag: spec.version, ...(digest !== undefined && { digest }) },
      layerSelector: { mediaType: CHART_LAYER, operation: 'copy' },
    },
  }
}

/** The release of Helm. Nothing is tried again or taken back by Flux itself: people and rollouts decide that. */
export function helmReleaseOf({ metadata, spec }: Component): KubeObject {
  const { requestedAt, chart, kind } = spec
  const asked = { 'reconcile.fluxcd.io/requestedAt': requestedAt, 'reconcile.fluxcd.io/forceAt': requestedAt }
  const once = { crds: 'CreateReplace', remediation: { retries: 0 } }
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: {
      name: fluxName(metadata.name),
      namespace: SYSTEM_NAMESPACE,
      ...(requestedAt !== undefined && { annotations: asked as Record<string, string> }),
    },
    spec: {
      interval: INTERVAL,
      timeout: kind === 'ThirdPartyChart' ? TIMEOUT.chart : TIMEOUT.own,
      releaseName: chart?.name,
      targetNamespace: spec.namespace,
      storageNamespace: spec.namespace,
      chartRef: { kind: 'OCIRepository', name: fluxName(metadata.name) },
      install: { ...once, createNamespace: true },
      upgrade: once,
      driftDetection: { mode: 'warn' },
      values: valuesOf(spec),
      valuesFrom: spec.required.map(({ key }) => ({
        kind: 'Secret',
        name: INSTALL_CONFIGURATION,
        valuesKey: configKey(metadata.name, key),
        targetPath: key,
        // Its default counts, or the chart's own.
        optional: true,
      })),
    },
  }
}

/** The values of the declaration, with the defaults of those that people may set. */
export function valuesOf({ values, required }: Pick<PlatformComponent['spec'], 'values' | 'required'>): object {
  const defaults = required.flatMap(({ key, type, default: text }) =>
    text === undefined ? [] : [[key, typed(text, type)] as const],
  )
  return defaults.reduce((whole, [key, value]) => withValue(whole, key.split('.'), value), values as object)
}

export function typed(text: string, type: 'String' | 'Integer' | 'Boolean'): string | number | boolean {
  if (type === 'Boolean') return text === 'true'
  return type === 'Integer' ? Number(text) : text
}

/** With a value at a path; what stands in its way is replaced. */
export function withValue(whole: object, [first = '', ...rest]: readonly string[], value: unknown): object {
  const inner = (whole as Record<string, unknown>)[first]
  const below = typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {}
  return { ...whole, [first]: rest.length === 0 ? value : withValue(below, rest, value) }
}
