import { declaredValues, type NeededValue } from '../../contracts/componentValues.ts'
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

/**
 * The release of Helm. Nothing is tried again or taken back by Flux itself: people and rollouts decide that.
 *
 * @param given what people gave to it
 */
export function helmReleaseOf({ metadata, spec }: Component, given: readonly NeededValue[]): KubeObject {
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
      values: declaredValues({ spec }),
      valuesFrom: given.map(({ key, type }) => ({
        kind: 'Secret',
        name: INSTALL_CONFIGURATION,
        valuesKey: configKey(metadata.name, key),
        targetPath: key,
        // Else a comma in a password would begin another value, and one of digits would be a number.
        literal: type === 'String',
      })),
    },
  }
}
