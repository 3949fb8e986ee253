import { PlatformError } from '../../core/errors.ts'
import { objectId } from '../../core/ids.ts'
import type { AnyKind } from '../../crds/define.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import type { Context } from '../http/context.ts'
import { atPlatform } from '../resources/collection/homes.ts'
import type { ComponentRecord, Stock } from './records.ts'

/** All objects of this area are in the platform's namespace. */
const HERE = { namespace: atPlatform().namespace }

export function idIn({ resource }: AnyKind, { name }: { name: string }): string {
  return objectId(resource, { ...HERE, name })
}

/** Returns all objects of a kind in the platform's namespace. */
export function all<K extends AnyKind>({ services, fresh }: Context, kind: K, now = fresh) {
  return services.records.list(kind, HERE, { fresh: now })
}

export async function stockOf(context: Context): Promise<Stock> {
  const [components, releases] = await Promise.all([all(context, PlatformComponent), all(context, ComponentRelease)])
  return { components, releases }
}

/** @throws PlatformError ComponentNotFound */
export function componentOf({ components }: Stock, name: string): ComponentRecord {
  const found = components.find(({ metadata }) => metadata.name === name)
  if (found !== undefined) return found
  throw new PlatformError('ComponentNotFound', `Component "${name.slice(0, 128)}" was not found.`)
}
