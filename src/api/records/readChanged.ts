import { z } from 'zod'
import { type FieldError, PlatformError } from '../../core/errors.ts'
import { readModel } from '../http/model.ts'
import { isEqual } from './mergePatch.ts'

/**
 * A spec with its defaults. As the API server has it (KEP-4008), a field that is as it was stored is not judged anew:
 * what a newer version no longer takes stays editable.
 *
 * @param previous undefined for what is new
 * @throws PlatformError as `readModel`, for the fields that have changed
 */
export function readChanged(schema: z.ZodObject, spec: object, previous: object | undefined): object {
  try {
    return readModel(schema, spec)
  } catch (error) {
    const kept = previous === undefined ? [] : refusedBy(error).filter((name) => isSame(name, spec, previous))
    if (kept.length === 0) throw error
    return readModel(schema.safeExtend(Object.fromEntries(kept.map((name) => [name, z.unknown()]))), spec)
  }
}

/** What is stored, with its defaults. */
export function readStored(schema: z.ZodObject, spec: object = {}): object {
  return readChanged(schema, spec, spec)
}

function refusedBy(error: unknown): string[] {
  if (!(error instanceof PlatformError)) return []
  const errors = (error.extras.errors ?? []) as FieldError[]
  return [...new Set(errors.map(({ field }) => field.split('.')[0] ?? ''))]
}

const isSame = (name: string, one: object, other: object) =>
  isEqual((one as Record<string, unknown>)[name], (other as Record<string, unknown>)[name])
