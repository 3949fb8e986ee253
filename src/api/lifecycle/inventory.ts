import { PlatformError } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import type { Context } from '../http/context.ts'
import { atPlatform } from '../resources/collection/parents.ts'
import type { ComponentInventory, ComponentRecord } from './records.ts'

/** All objects of this area are in the platform's namespace. */
const PLATFORM_PLACE = { namespace: atPlatform().namespace }

export function platformObjectId({ resource }: AnyKind, { name }: { name: string }): string {
  return objectId(resource, { ...PLATFORM_PLACE, name })
}

/** Returns all objects of a kind in the platform's namespace. */
export function listPlatformObjects<K extends AnyKind>({ services, fresh }: Context, kind: K, now = fresh) {
  return services.records.list(kind, PLATFORM_PLACE, { fresh: now })
}

export async function readInventory(context: Context): Promise<ComponentInventory> {
  const [components, releases] = await Promise.all([
    listPlatformObjects(context, PlatformComponent),
    listPlatformObjects(context, ComponentRelease),
  ])
  return { components, releases }
}

/** @throws PlatformError ComponentNotFound */
export function componentOf({ components }: ComponentInventory, name: string): ComponentRecord {
  const found = components.find(({ metadata }) => metadata.name === name)
  if (found !== undefined) return found
  throw new PlatformError('ComponentNotFound', `Component "${name.slice(0, 128)}" was not found.`)
}
