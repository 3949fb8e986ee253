export { buildObjects, ownedByJob } from './objects.ts'
export {
  type BuildJob,
  type BuildPod,
  isHalfStarted,
  isOver,
  observeBuild,
  PLAYED_BUILD,
  playedBuild,
} from './observe.ts'
export { buildRequestOf, type Code } from './request.ts'
