export { buildObjects, ownedByJob } from './objects.ts'
export {
  type BuildJob,
  type BuildPod,
  isHalfStarted,
  isOver,
  observeBuild,
  SIMULATED_BUILD_MESSAGE,
  simulatedBuild,
} from './observe.ts'
export { type BuildableCode, buildRequestOf } from './request.ts'
