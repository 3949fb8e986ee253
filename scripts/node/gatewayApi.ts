import type { KubeObject } from '../../src/core/object.ts'
import { definitionsOf } from '../controlplane/definitions.ts'

/** The definitions of the Gateway API as its release has them (standard channel). @throws Error if they cannot be had */
export function gatewayApiDefinitions(environment = process.env): Promise<KubeObject[]> {
  const source = {
    tool: 'gatewayapi',
    module: 'sigs.k8s.io/gateway-api',
    folder: 'config/crd/standard',
    cachedAs: 'gateway-api',
  }
  return definitionsOf(source, environment)
}
