import { z } from 'zod'

/** Declares a record with its name in documents and clients. */
export const namedRecord = <const Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id })

/** Declares a record that accepts no other fields. */
export const strictRecord = <const Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.strictObject(shape).meta({ id })
