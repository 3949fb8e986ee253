import { z } from 'zod'

/** Records of bodies and answers under their names in documents and clients. */
export const namedRecord = <const Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.object(shape).meta({ id })

/** One that takes no other fields. */
export const strictRecord = <const Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) =>
  z.strictObject(shape).meta({ id })
