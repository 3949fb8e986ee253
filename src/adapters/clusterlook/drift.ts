import { configKey } from '../../contracts/lifecycle.ts'
import {
  configKeysOf,
  type DriftItem,
  digestOf,
  fieldsOfOthers,
  type ManagedFields,
  shownValue,
  valueAt,
} from '../../contracts/rollouts/drift.ts'
import { DRIFT_VALUE_MAX } from '../../contracts/rollouts/states.ts'
import type { KubeObject } from '../../core/object.ts'
import type { LookedComponent } from './port.ts'

/** The fields of one object of a component that somebody else wrote. */
export function driftOf(component: LookedComponent, object: KubeObject): DriftItem[] {
  const { kind, metadata } = object
  const { namespace = '', name } = metadata
  const keys = configKeysOf(object)
  return fieldsOfOthers(metadata.managedFields as ManagedFields[] | undefined).map(({ field, manager }) => {
    const value = valueAt(object, field)
    const adoption = adoptionOf(component, keys[field], value)
    // Also where it cannot be taken over.
    const isSecret = component.keys[keys[field] ?? '']?.isSecret ?? false
    const live = shownValue(value, isSecret)
    return {
      component: component.name,
      step: '',
      ...{ kind, namespace, name },
      field: field.slice(0, DRIFT_VALUE_MAX),
      manager,
      message: `${manager || 'Somebody'} wrote ${field} of ${kind} ${name}, which ${component.name} sets.`.slice(
        0,
        1024,
      ),
      ...(live !== undefined && { live }),
      ...(adoption !== undefined && { adoption }),
    }
  })
}

/** Values of objects become those of the configuration where the chart says which, and people may set it. */
function adoptionOf({ name, keys }: LookedComponent, key: string | undefined, value: unknown): DriftItem['adoption'] {
  const known = key === undefined ? undefined : keys[key]
  if (key === undefined || known === undefined) return undefined
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const { isSecret } = known
  const text = String(value)
  if (text.length > DRIFT_VALUE_MAX) return undefined
  return { configKey: configKey(name, key), liveValue: isSecret ? digestOf(text) : text, isSecret }
}
