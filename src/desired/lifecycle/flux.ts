import { declaredValues, type NeededValue } from '../../contracts/componentValues.ts'
import { configKey, INSTALL_CONFIGURATION } from '../../contracts/lifecycle.ts'
import { childName, SYSTEM_NAMESPACE } from '../../core/names.ts'
import type { KubeObject } from '../../core/object.ts'
import type { PlatformComponent } from '../../crds/lifecycle.ts'

/** Flux objects of a component (https://fluxcd.io/flux/components/helm/helmreleases, .../source/ocirepositories). */

/** Name of both Flux objects of a component. */
export function fluxName(component: string): string {
  return childName('pcomp', component)
}

/** Flux reports changes through watches; the interval catches missed ones, and charts changed by hand. */
const SYNC_INTERVAL = '1h'
const CHART_LAYER = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip'
/** How long Helm waits for an installation; batches of rollouts have the same limits. */
const HELM_TIMEOUT = { chart: '30m', own: '10m' }

type Component = Pick<PlatformComponent, 'metadata' | 'spec'>
/** Where charts are actually pulled from. */
export type ChartLocation = { readonly url: string; readonly isInsecure: boolean }

/**
 * Returns the chart source of a component.
 *
 * @param digest the version's digest when first seen: a tag that moved is not installed
 */
export function ociRepositoryOf(
  { metadata, spec }: Component,
  { url, isInsecure }: ChartLocation,
  digest: string | undefined,
): KubeObject {
  return {
    apiVersion: 'source.toolkit.fluxcd.io/v1',
    kind: 'OCIRepository',
    metadata: { name: fluxName(metadata.name), namespace: SYSTEM_NAMESPACE },
    spec: {
      url,
      interval: SYNC_INTERVAL,
      ...(isInsecure && { insecure: true }),
      ref: { tag: spec.version, ...(digest !== undefined && { digest }) },
      layerSelector: { mediaType: CHART_LAYER, operation: 'copy' },
    },
  }
}

/**
 * Returns the Helm release. Flux neither retries nor rolls back: people and rollouts decide that.
 *
 * @param given values that people have set
 */
export function helmReleaseOf({ metadata, spec }: Component, given: readonly NeededValue[]): KubeObject {
  const { requestedAt, chart, kind } = spec
  const requestAnnotations = {
    'reconcile.fluxcd.io/requestedAt': requestedAt,
    'reconcile.fluxcd.io/forceAt': requestedAt,
  }
  const installOptions = { crds: 'CreateReplace', remediation: { retries: 0 } }
  return {
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    metadata: {
      name: fluxName(metadata.name),
      namespace: SYSTEM_NAMESPACE,
      ...(requestedAt !== undefined && { annotations: requestAnnotations as Record<string, string> }),
    },
    spec: {
      interval: SYNC_INTERVAL,
      timeout: kind === 'ThirdPartyChart' ? HELM_TIMEOUT.chart : HELM_TIMEOUT.own,
      releaseName: chart?.name,
      targetNamespace: spec.namespace,
      storageNamespace: spec.namespace,
      chartRef: { kind: 'OCIRepository', name: fluxName(metadata.name) },
      install: { ...installOptions, createNamespace: true },
      upgrade: installOptions,
      driftDetection: { mode: 'warn' },
      values: declaredValues({ spec }),
      valuesFrom: given.map(({ key, type }) => ({
        kind: 'Secret',
        name: INSTALL_CONFIGURATION,
        valuesKey: configKey(metadata.name, key),
        targetPath: key,
        // Otherwise a comma in a password would start another value, and digits would become a number.
        literal: type === 'String',
      })),
    },
  }
}
