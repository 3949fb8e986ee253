import type { FlowSource } from './port.ts'

/** For clusters where nothing collects flows: no data is made up. */
export const noFlows: FlowSource = {
  state: async () => undefined,
  flows: async () => undefined,
}
