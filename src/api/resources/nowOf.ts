import { timestamp } from '../../core/clock.ts'
import type { Context } from '../http/context.ts'

/** The time of the platform's clock, as objects store it. */
export const nowOf = ({ services }: Pick<Context, 'services'>): string => timestamp(services.clock.now())
