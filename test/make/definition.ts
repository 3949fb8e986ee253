import { randomUUID } from 'node:crypto'
import type { KubeObject } from '../../src/core/object.ts'

/** The CRD of a kind with these fields, and with a status if one is among them. */
export function definitionOf(properties: Record<string, object>): KubeObject {
  const plural = `tries${randomUUID().slice(0, 8)}`
  const version = {
    ...{ name: 'v1', served: true, storage: true },
    schema: { openAPIV3Schema: { type: 'object', properties } },
    ...('status' in properties && { subresources: { status: {} } }),
  }
  const names = { plural, kind: `Try${plural.slice(5)}` }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.kube.example.com` },
    spec: { group: 'kube.example.com', scope: 'Namespaced', names, versions: [version] },
  }
}
