import type { ValueReferences } from '../contracts/references.ts'
import type { Resource } from '../core/object.ts'
import { PlatformApp } from './apps.ts'
import { ContainerInstance } from './containerinstances.ts'

/** Returns an app's references in the form of a container instance with one component. */
export function appValueReferences(spec: object): ValueReferences {
  const { env, volumes, managedIdentity } = spec as Partial<PlatformApp['spec']>
  return { components: [{ env }], volumes: volumes ?? [], managedIdentity }
}

/** The kinds whose pods are given the values that their specs, and the contents of their revisions, refer to. */
export const KINDS_WITH_VALUE_REFERENCES: Readonly<
  Record<string, { resource: Resource; of: (spec: object) => ValueReferences }>
> = {
  [ContainerInstance.kind]: { resource: ContainerInstance.resource, of: (spec) => spec as ValueReferences },
  [PlatformApp.kind]: { resource: PlatformApp.resource, of: appValueReferences },
}
