export {
  type AttemptSummary,
  ERROR_CLASSES,
  ERROR_CODES,
  type ErrorBody,
  type ErrorClass,
  type ErrorCode,
} from "./errors.ts";
export {
  FEEDBACK_DIMENSIONS,
  type FeedbackDimension,
  type FeedbackFigures,
  type FeedbackInput,
  type FeedbackReport,
  type FeedbackRow,
} from "./feedback.ts";
export { type GatewayMetadata, HEADERS, PLATFORM_HEADER_PREFIX } from "./headers.ts";
export type { AttemptRow, CredentialUse, Page, Purpose, RequestRecord, RequestRow, RequestStatus } from "./request.ts";
export { SPEND_DIMENSIONS, type SpendDimension, type SpendFigures, type SpendReport, type SpendRow } from "./spend.ts";
export { type CostState, noUsage, type Usage } from "./usage.ts";
