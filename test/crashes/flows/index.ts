import type { Flow } from '../flow.ts'
import { vectorFlows } from './vector.ts'

/** What users do, area by area; each flow is played with a death of the operator at each of its writes. */
export const FLOWS: readonly Flow[] = [...vectorFlows]
