import { configKey } from '../../contracts/lifecycle.ts'
import {
  configKeysOf,
  type DriftItem,
  driftValueDigest,
  formatDriftValue,
  listForeignFields,
  type ManagedFields,
  valueAtFieldPath,
} from '../../contracts/rollouts/drift.ts'
import { MAX_DRIFT_VALUE_CHARACTERS } from '../../contracts/rollouts/states.ts'
import type { KubeObject } from '../../core/object.ts'
import type { InspectedComponent } from './port.ts'

/** Returns the fields of a component's object that another field manager owns. */
export function driftOf(component: InspectedComponent, object: KubeObject): DriftItem[] {
  const { kind, metadata } = object
  const { namespace = '', name } = metadata
  const keys = configKeysOf(object)
  return listForeignFields(metadata.managedFields as ManagedFields[] | undefined).map(({ field, manager }) => {
    const value = valueAtFieldPath(object, field)
    const adoption = adoptionOf(component, keys[field], value)
    // The value is masked even if the field cannot be adopted.
    const isSecret = component.keys[keys[field] ?? '']?.isSecret ?? false
    const live = formatDriftValue(value, isSecret)
    return {
      component: component.name,
      step: '',
      ...{ kind, namespace, name },
      field: field.slice(0, MAX_DRIFT_VALUE_CHARACTERS),
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

/** Returns how to adopt a live value into the configuration, if the chart maps the field to a settable key. */
function adoptionOf(
  { name, keys }: InspectedComponent,
  key: string | undefined,
  value: unknown,
): DriftItem['adoption'] {
  const known = key === undefined ? undefined : keys[key]
  if (key === undefined || known === undefined) return undefined
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const { isSecret } = known
  const text = String(value)
  if (text.length > MAX_DRIFT_VALUE_CHARACTERS) return undefined
  return { configKey: configKey(name, key), liveValue: isSecret ? driftValueDigest(text) : text, isSecret }
}
