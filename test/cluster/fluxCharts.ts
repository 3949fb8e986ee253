import { definitionsOf } from '../../scripts/controlplane/definitions.ts'
import type { KubeObject } from '../../src/core/object.ts'

/** The definitions of what installs charts, as the releases of Flux have them. @throws Error if they cannot be had */
export async function fluxChartDefinitions(): Promise<KubeObject[]> {
  const of = (name: string) =>
    definitionsOf({
      ...{ tool: 'fluxcharts', module: `github.com/fluxcd/${name}`, folder: 'config/crd/bases' },
      cachedAs: `flux-${name}`,
    })
  const found = (await Promise.all(['helm-controller', 'source-controller'].map(of))).flat()
  const wanted = ['helmreleases.helm.toolkit.fluxcd.io', 'ocirepositories.source.toolkit.fluxcd.io']
  return found.filter(({ metadata }) => wanted.includes(metadata.name))
}
