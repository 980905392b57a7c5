// SPDX-License-Identifier: MIT
//
// Names of the ops of the built-in op package, of their parameters, and values of the parameters
// that choose among named cases. The comment before an op lists its inputs and outputs in order;
// those in brackets are optional, dots mean several.

#ifndef QNN_OP_DEF_H
#define QNN_OP_DEF_H

// Package and version of the op set.
#define QNN_OP_PACKAGE_NAME_QTI_AISW "qti.aisw" // the built-in op package
#define QNN_OPSET_VERSION_MAJOR 2
#define QNN_OPSET_VERSION_MINOR 12
#define QNN_OPSET_VERSION_PATCH 0

// (image) -> rgb
// [N,H,W,4] -> [N,H,W,3]. Drops alpha. 'input_order' is the order of the input channels (A,R,G,B or
// R,G,B,A); 'reverse_output' writes B,G,R.
#define QNN_OP_ARGB_TO_RGB "ArgbToRgb"
#define QNN_OP_ARGB_TO_RGB_PARAM_INPUT_ORDER "input_order"
#define QNN_OP_ARGB_TO_RGB_INPUT_ORDER_ARGB 0
#define QNN_OP_ARGB_TO_RGB_INPUT_ORDER_RGBA 1
#define QNN_OP_ARGB_TO_RGB_PARAM_REVERSE_OUTPUT "reverse_output"

// (x) -> index
// x -> x without 'axis', or with size 1 there ('keep_dims'). Index of the largest element along
// 'axis'; of equal ones the first.
#define QNN_OP_ARGMAX "Argmax"
#define QNN_OP_ARGMAX_PARAM_AXIS "axis"
#define QNN_OP_ARGMAX_PARAM_KEEP_DIMS "keep_dims"

// (x) -> index
// x -> x without 'axis', or with size 1 there ('keep_dims'). Index of the smallest element along
// 'axis'; of equal ones the first.
#define QNN_OP_ARGMIN "Argmin"
#define QNN_OP_ARGMIN_PARAM_AXIS "axis"
#define QNN_OP_ARGMIN_PARAM_KEEP_DIMS "keep_dims"

// (rois, deltas, batch_index, image_size) -> boxes, [batch_splits]
// rois [R,4] (x1,y1,x2,y2), deltas [R,4*classes], batch index [R], image sizes [N,2] (h, w) ->
// boxes [R,4*classes], [rois of each image]. Moves each roi by its deltas for each class, in units
// of the roi's size and divided by 'weights', and clips it to its image.
#define QNN_OP_AXIS_ALIGNED_BBOX_TRANSFORM "AxisAlignedBboxTransform"
#define QNN_OP_AXIS_ALIGNED_BBOX_TRANSFORM_PARAM_WEIGHTS "weights"

// (x, weight, [bias]) -> y
// x [...,C], weight [C], bias [C] -> x. x * weight + bias for each channel; mean and variance are
// folded into both by the caller.
#define QNN_OP_BATCHNORM "Batchnorm"

// (x, indices) -> y
// x [N,...], indices [M] -> [M,...]. Row r of the result is the row of x that the r-th index in
// range names; rows without one are 0.
#define QNN_OP_BATCH_PERMUTATION "BatchPermutation"

// (x) -> y
// [N,H,W,C] -> [N/(bh*bw), H*bh-crops, W*bw-crops, C]. Moves blocks of the batch into height and
// width, then crops. 'block_size' is [height, width]; 'crops' is [[top, bottom], [left, right]].
// y[n, h*bh+i-top, w*bw+j-left, c] = x[(i*bw+j)*N'+n, h, w, c], N' = N/(bh*bw).
#define QNN_OP_BATCH_TO_SPACE "BatchToSpace"
#define QNN_OP_BATCH_TO_SPACE_PARAM_BLOCK_SIZE "block_size"
#define QNN_OP_BATCH_TO_SPACE_PARAM_CROPS "crops"

// (rois, deltas, image_info, [batch_index]) -> boxes, rois_per_batch
// rois [R,5] (center x, y, w, h, angle), deltas [R,5*classes], image info [N,3] (h, w, scale),
// [batch index] -> boxes [R,5*classes], rois of each image. As AxisAlignedBboxTransform for rotated
// boxes; 'apply_scale' maps them to the scaled image.
#define QNN_OP_BBOX_TRANSFORM "BboxTransform"
#define QNN_OP_BBOX_TRANSFORM_PARAM_WEIGHTS "weights"
#define QNN_OP_BBOX_TRANSFORM_PARAM_APPLY_SCALE "apply_scale"
#define QNN_OP_BBOX_TRANSFORM_PARAM_ANGLE_BOUNDS "angle_bounds"
#define QNN_OP_BBOX_TRANSFORM_PARAM_ANGLE_CLIP_THRESHOLD "angle_clip_threshold"

// (boxes, scores, batch_index, [batch_splits]) -> boxes, scores, classes, batch_index,
// [batch_splits], [keeps], [keeps_size]
// boxes [R,4*classes], scores [R,classes], batch index [R], [rois of each image] -> boxes [K,4],
// scores [K], classes [K], batch index [K], .... Non-maximum suppression for each image and class:
// HARD drops overlaps of at least 'iou_threshold', LINEAR and GAUSSIAN lower their scores. The
// first output dimension is a limit.
#define QNN_OP_BOX_WITH_NMS_LIMIT "BoxWithNmsLimit"
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_NMS_KERNEL_METHOD "nms_kernel_method"
#define QNN_OP_BOX_WITH_NMS_LIMIT_NMS_KERNEL_METHOD_HARD 0
#define QNN_OP_BOX_WITH_NMS_LIMIT_NMS_KERNEL_METHOD_LINEAR 1
#define QNN_OP_BOX_WITH_NMS_LIMIT_NMS_KERNEL_METHOD_GAUSSIAN 2
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_NMS_SCORE_THRESHOLD "nms_score_threshold"
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_SCORE_THRESHOLD "score_threshold"
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_PRE_NMS_LIMIT "pre_nms_limit"
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_BOX_WITH_NMS_LIMIT_PARAM_SIGMA "sigma"

// (frames, [reset]) -> buffer
// [..., F along 'buffer_dim', ...] -> the same with 'buffer_size' there. First-in first-out queue
// of frames along 'buffer_dim' that stays across executions; a full queue drops its 'stride' oldest
// frames.
#define QNN_OP_BUFFER "Buffer"
#define QNN_OP_BUFFER_PARAM_BUFFER_SIZE "buffer_size"
#define QNN_OP_BUFFER_PARAM_BUFFER_DIM "buffer_dim"
#define QNN_OP_BUFFER_PARAM_STRIDE "stride"
#define QNN_OP_BUFFER_PARAM_MODE "mode"
#define QNN_OP_BUFFER_MODE_BLOCKING 0
#define QNN_OP_BUFFER_MODE_NON_BLOCKING_LEFT 1
#define QNN_OP_BUFFER_MODE_NON_BLOCKING_RIGHT 2
#define QNN_OP_BUFFER_PARAM_BUFFER_PADDING "buffer_padding"

// (x) -> y
// x -> x. Converts values and ignores encodings: fixed-point types count as the integers of their
// width. Convert obeys encodings.
#define QNN_OP_CAST "Cast"

// (x) -> y
// x -> x. With G groups of S channels along 'axis': y[i*G+g] = x[g*S+i].
#define QNN_OP_CHANNEL_SHUFFLE "ChannelShuffle"
#define QNN_OP_CHANNEL_SHUFFLE_PARAM_NUM_GROUPS "num_groups"
#define QNN_OP_CHANNEL_SHUFFLE_PARAM_AXIS "axis"

// (columns) -> image
// columns [N, C*kh*kw, L] -> [N,H,W,C]. Adds columns into an image, the adjoint of Im2Col.
// 'pad_amount' is [[top, bottom], [left, right]].
#define QNN_OP_COL2_IM "Col2Im"
#define QNN_OP_COL2_IM_PARAM_KERNEL_SIZE "kernel_size"
#define QNN_OP_COL2_IM_PARAM_STRIDE "stride"
#define QNN_OP_COL2_IM_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_COL2_IM_PARAM_DILATION "dilation"

// (rois_l0, [rois_l1..l4]..., scores_l0, [scores_l1..l4]...) -> rois
// rois [Ri,5] of each level, scores [Ri] of each level -> [R,5]. Joins the levels and keeps the
// 'post_nms_top' best as rows (batch, x1, y1, x2, y2).
#define QNN_OP_COLLECT_RPN_PROPOSALS "CollectRpnProposals"
#define QNN_OP_COLLECT_RPN_PROPOSALS_PARAM_RPN_MIN_LEVEL "rpn_min_level"
#define QNN_OP_COLLECT_RPN_PROPOSALS_PARAM_RPN_MAX_LEVEL "rpn_max_level"
#define QNN_OP_COLLECT_RPN_PROPOSALS_PARAM_POST_NMS_TOP "post_nms_top"

// (boxes, scores) -> boxes, scores, classes, valid_count
// boxes [N,B,q,4] (q 1 or classes), scores [N,B,classes] -> boxes [N,K,4], scores [N,K], classes
// [N,K], counts [N]. Non-maximum suppression for each image and class, then the best of all
// classes; the rest of each output is 0.
#define QNN_OP_COMBINED_NMS "CombinedNms"
#define QNN_OP_COMBINED_NMS_PARAM_MAX_BOXES_PER_CLASS "max_boxes_per_class"
#define QNN_OP_COMBINED_NMS_PARAM_MAX_TOTAL_BOXES "max_total_boxes"
#define QNN_OP_COMBINED_NMS_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_COMBINED_NMS_PARAM_SCORE_THRESHOLD "score_threshold"
#define QNN_OP_COMBINED_NMS_PARAM_PAD_PER_CLASS "pad_per_class"
#define QNN_OP_COMBINED_NMS_PARAM_CLIP_BOXES "clip_boxes"

// (x0..xm...) -> y
// inputs that differ along 'axis' only -> their sum there. Joins the inputs along 'axis'.
#define QNN_OP_CONCAT "Concat"
#define QNN_OP_CONCAT_PARAM_AXIS "axis"

// (shape) -> y
// shape [rank] -> tensor of that shape. Fills the output with 'value'.
#define QNN_OP_CONSTANT_OF_SHAPE "ConstantOfShape"
#define QNN_OP_CONSTANT_OF_SHAPE_PARAM_VALUE "value"

// (x, filter, [bias]) -> y
// x [N,W,Cin], filter [Kw,Cin/group,Cout], bias [Cout] -> [N,Wo,Cout]. Cross-correlation, the
// filter is not flipped. 'pad_amount' is [before, after]. Wo = floor((W + before + after -
// dilation*(Kw-1) - 1) / stride) + 1. Padding is 0, of a fixed-point input its zero point.
#define QNN_OP_CONV_1D "Conv1d"
#define QNN_OP_CONV_1D_PARAM_STRIDE "stride"
#define QNN_OP_CONV_1D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_CONV_1D_PARAM_GROUP "group"
#define QNN_OP_CONV_1D_PARAM_DILATION "dilation"

// (x, filter, [bias]) -> y
// x [N,H,W,Cin], filter [Kh,Kw,Cin/group,Cout] (HWIO), bias [Cout] -> [N,Ho,Wo,Cout].
// Cross-correlation, the filter is not flipped. 'stride' and 'dilation' are [height, width],
// 'pad_amount' is [[top, bottom], [left, right]]. Ho = floor((H + top + bottom - dilation*(Kh-1) -
// 1) / stride) + 1, Wo likewise. Output channels are cut into 'group' consecutive blocks; block g
// reads input channels g*Cin/group and on.
#define QNN_OP_CONV_2D "Conv2d"
#define QNN_OP_CONV_2D_PARAM_STRIDE "stride"
#define QNN_OP_CONV_2D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_CONV_2D_PARAM_GROUP "group"
#define QNN_OP_CONV_2D_PARAM_DILATION "dilation"
#define QNN_OP_CONV_2D_PARAM_REUSE_SPARSE_INDICES "reuse_sparse_indices"

// (x, filter, [bias]) -> y
// x [N,D,H,W,Cin], filter [Kd,Kh,Kw,Cin/group,Cout] (DHWIO), bias [Cout] -> [N,Do,Ho,Wo,Cout]. As
// Conv2d; 'stride', 'dilation' and the rows of 'pad_amount' are depth, height, width.
#define QNN_OP_CONV_3D "Conv3d"
#define QNN_OP_CONV_3D_PARAM_STRIDE "stride"
#define QNN_OP_CONV_3D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_CONV_3D_PARAM_GROUP "group"
#define QNN_OP_CONV_3D_PARAM_DILATION "dilation"
#define QNN_OP_CONV_3D_PARAM_REUSE_SPARSE_INDICIES "reuse_sparse_indicies"

// (x) -> y
// x -> x. Changes type and encoding and keeps the real value: requantizes, quantizes, dequantizes,
// or changes the float type.
#define QNN_OP_CONVERT "Convert"
#define QNN_OP_CONVERT_PARAM_DYNAMIC_INPUT_DATA "dynamic_input_data"
#define QNN_OP_CONVERT_PARAM_DYNAMIC_OUTPUT_DATA "dynamic_output_data"

// (a, b) -> y
// a [N,H,W,C], b [N,H,W,C] -> [N,H,W,2*displacement+1]. Mean over channels of a[n,h,w] * b[n,h,w'],
// w' = w + d - (displacement - shift); 0 where w' is outside.
#define QNN_OP_CORRELATION_1D "Correlation1D"
#define QNN_OP_CORRELATION_1D_PARAM_DISPLACEMENT "displacement"
#define QNN_OP_CORRELATION_1D_PARAM_SHIFT "shift"

// (indices, values) -> sparse
// indices [M,K], values [M,...] -> sparse tensor. Makes a sparse tensor of M elements whose K outer
// coordinates are given; all others are 0.
#define QNN_OP_CREATE_SPARSE "CreateSparse"

// (image, boxes, box_index) -> crops
// image [N,H,W,C], boxes [B,4], batch index [B] -> [B,h,w,C]. Cuts boxes (y1, x1, y2, x2 in units
// of size-1) and resizes them to 'resize_dims' [height, width]; samples outside are
// 'extrapolation_value'.
#define QNN_OP_CROP_AND_RESIZE "CropAndResize"
#define QNN_OP_CROP_AND_RESIZE_PARAM_RESIZE_DIMS "resize_dims"
#define QNN_OP_CROP_AND_RESIZE_PARAM_INTERPOLATION_MODE "interpolation_mode"
#define QNN_OP_CROP_AND_RESIZE_INTERPOLATION_MODE_BILINEAR 0
#define QNN_OP_CROP_AND_RESIZE_INTERPOLATION_MODE_NEAREST_NEIGHBOR 1
#define QNN_OP_CROP_AND_RESIZE_PARAM_EXTRAPOLATION_VALUE "extrapolation_value"

// (x) -> y
// x -> x. Prefix sum along 'axis'. [1,2,3] gives [1,3,6]; 'exclusive' [0,1,3]; 'reverse' [6,5,3];
// both [5,3,0].
#define QNN_OP_CUMULATIVE_SUM "CumulativeSum"
#define QNN_OP_CUMULATIVE_SUM_PARAM_AXIS "axis"
#define QNN_OP_CUMULATIVE_SUM_PARAM_EXCLUSIVE "exclusive"
#define QNN_OP_CUMULATIVE_SUM_PARAM_REVERSE "reverse"

// (x) -> y
// [N,H,W,C] -> [N,H*bh,W*bw,C/(bh*bw)]. 'block_size' is [height, width]. DCR: y[n,h*bh+i,w*bw+j,c]
// = x[n,h,w,(i*bw+j)*C'+c]; CRD: x[n,h,w,c*bh*bw+i*bw+j].
#define QNN_OP_DEPTH_TO_SPACE "DepthToSpace"
#define QNN_OP_DEPTH_TO_SPACE_PARAM_BLOCK_SIZE "block_size"
#define QNN_OP_DEPTH_TO_SPACE_PARAM_MODE "mode"
#define QNN_OP_DEPTH_TO_SPACE_MODE_DCR 0
#define QNN_OP_DEPTH_TO_SPACE_MODE_CRD 1

// (x, filter, [bias]) -> y
// x [N,W,Cin], filter [Kw,1,Cout], bias [Cout] -> [N,Wo,Cout]. Output channel co reads input
// channel co / (Cout/Cin). Sizes and padding as in Conv1d.
#define QNN_OP_DEPTH_WISE_CONV_1D "DepthWiseConv1d"
#define QNN_OP_DEPTH_WISE_CONV_1D_PARAM_STRIDE "stride"
#define QNN_OP_DEPTH_WISE_CONV_1D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_DEPTH_WISE_CONV_1D_PARAM_DILATION "dilation"

// (x, filter, [bias]) -> y
// x [N,H,W,Cin], filter [Kh,Kw,1,Cout], bias [Cout] -> [N,Ho,Wo,Cout]. Output channel co reads
// input channel co / (Cout/Cin). 'stride', 'dilation', 'pad_amount' and sizes as in Conv2d.
#define QNN_OP_DEPTH_WISE_CONV_2D "DepthWiseConv2d"
#define QNN_OP_DEPTH_WISE_CONV_2D_PARAM_STRIDE "stride"
#define QNN_OP_DEPTH_WISE_CONV_2D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_DEPTH_WISE_CONV_2D_PARAM_DILATION "dilation"

// (q) -> y
// x -> x. (q - zero point) * scale, with the encoding of the input.
#define QNN_OP_DEQUANTIZE "Dequantize"

// (scores, deltas, anchors) -> scores, boxes, labels, valid_count
// scores [N,A,classes], deltas [N,A,4] and anchors [A*N,4] (center y, x, h, w) -> scores [N,K],
// boxes [N,K,4] (y1,x1,y2,x2), classes [N,K], counts [N]. Decodes boxes relative to anchors, drops
// scores below 'confidence_threshold' and suppresses overlaps, over all classes (FAST) or for each
// (REGULAR).
#define QNN_OP_DETECTION_OUTPUT "DetectionOutput"
#define QNN_OP_DETECTION_OUTPUT_PARAM_DELTA_SCALING_FACTORS "delta_scaling_factors"
#define QNN_OP_DETECTION_OUTPUT_PARAM_CONFIDENCE_THRESHOLD "confidence_threshold"
#define QNN_OP_DETECTION_OUTPUT_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_DETECTION_OUTPUT_PARAM_NMS_TYPE "nms_type"
#define QNN_OP_DETECTION_OUTPUT_NMS_TYPE_FAST 0
#define QNN_OP_DETECTION_OUTPUT_NMS_TYPE_REGULAR 1
#define QNN_OP_DETECTION_OUTPUT_PARAM_BACKGROUND_CLASS_IDX "background_class_idx"
#define QNN_OP_DETECTION_OUTPUT_PARAM_USE_BG_IN_NMS "use_bg_in_nms"
#define QNN_OP_DETECTION_OUTPUT_PARAM_OUTPUT_BACKGROUND "output_background"
#define QNN_OP_DETECTION_OUTPUT_PARAM_SHARE_LOCATION "share_location"
#define QNN_OP_DETECTION_OUTPUT_PARAM_NMS_ETA "nms_eta"
#define QNN_OP_DETECTION_OUTPUT_PARAM_DETECTION_LIMIT "detection_limit"

// (rois) -> restore_index, rois_min_level, [rois_level+1..]...
// rois [R,4 or 5] -> order, rois of each level. Assigns each roi to a level by its area; the first
// output is its row in the concatenation of the levels.
#define QNN_OP_DISTRIBUTE_FPN_PROPOSALS "DistributeFpnProposals"
#define QNN_OP_DISTRIBUTE_FPN_PROPOSALS_PARAM_ROI_MIN_LEVEL "roi_min_level"
#define QNN_OP_DISTRIBUTE_FPN_PROPOSALS_PARAM_ROI_MAX_LEVEL "roi_max_level"
#define QNN_OP_DISTRIBUTE_FPN_PROPOSALS_PARAM_ROI_CANONICAL_SCALE "roi_canonical_scale"
#define QNN_OP_DISTRIBUTE_FPN_PROPOSALS_PARAM_ROI_CANONICAL_LEVEL "roi_canonical_level"

// (x) -> y
// x -> x. |x|.
#define QNN_OP_ELEMENT_WISE_ABS "ElementWiseAbs"

// (a, b) -> y
// a, b -> broadcast. a + b.
#define QNN_OP_ELEMENT_WISE_ADD "ElementWiseAdd"

// (a, b) -> y
// a, b -> broadcast. 1 where both are not 0, else 0.
#define QNN_OP_ELEMENT_WISE_AND "ElementWiseAnd"

// (x) -> y
// x -> x. arcsin(x); undefined outside of [-1, 1].
#define QNN_OP_ELEMENT_WISE_ASIN "ElementWiseAsin"

// (x) -> y
// x -> x. arctan(x).
#define QNN_OP_ELEMENT_WISE_ATAN "ElementWiseAtan"

// (a, b) -> y
// a, b -> broadcast. The binary op that 'operation' names; formulas as in the single ops.
#define QNN_OP_ELEMENT_WISE_BINARY "ElementWiseBinary"
#define QNN_OP_ELEMENT_WISE_BINARY_PARAM_OPERATION "operation"
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_ADD 0
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_AND 1
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_DIVIDE 2
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_EQUAL 3
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_FLOOR_DIV 4
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_FMOD 5
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_GREATER 6
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_GREATER_EQUAL 7
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_LESS 8
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_LESS_EQUAL 9
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MAXIMUM 10
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MINIMUM 11
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MOD 12
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_MULTIPLY 13
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_NOT_EQUAL 14
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_OR 15
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_POWER 16
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_SQUARED_DIFFERENCE 17
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_SUBTRACT 18
#define QNN_OP_ELEMENT_WISE_BINARY_OPERATION_XOR 19

// (x) -> y
// x -> x. Smallest integer that is not less than x.
#define QNN_OP_ELEMENT_WISE_CEIL "ElementWiseCeil"

// (x) -> y
// x -> x. cos(x), radians.
#define QNN_OP_ELEMENT_WISE_COS "ElementWiseCos"

// (a, b) -> y
// a, b -> broadcast. a / b; undefined for b = 0.
#define QNN_OP_ELEMENT_WISE_DIVIDE "ElementWiseDivide"

// (a, b) -> y
// a, b -> broadcast. a == b.
#define QNN_OP_ELEMENT_WISE_EQUAL "ElementWiseEqual"

// (x) -> y
// x -> x. e^x.
#define QNN_OP_ELEMENT_WISE_EXP "ElementWiseExp"

// (x) -> y
// x -> x. Largest integer that is not greater than x.
#define QNN_OP_ELEMENT_WISE_FLOOR "ElementWiseFloor"

// (a, b) -> y
// a, b -> broadcast. floor(a / b); undefined for b = 0.
#define QNN_OP_ELEMENT_WISE_FLOOR_DIV "ElementWiseFloorDiv"

// (a, b) -> y
// a, b -> broadcast. Remainder of a / b with the sign of a, as fmod in C.
#define QNN_OP_ELEMENT_WISE_FMOD "ElementWiseFmod"

// (a, b) -> y
// a, b -> broadcast. a > b.
#define QNN_OP_ELEMENT_WISE_GREATER "ElementWiseGreater"

// (a, b) -> y
// a, b -> broadcast. a >= b.
#define QNN_OP_ELEMENT_WISE_GREATER_EQUAL "ElementWiseGreaterEqual"

// (a, b) -> y
// a, b -> broadcast. a < b.
#define QNN_OP_ELEMENT_WISE_LESS "ElementWiseLess"

// (a, b) -> y
// a, b -> broadcast. a <= b.
#define QNN_OP_ELEMENT_WISE_LESS_EQUAL "ElementWiseLessEqual"

// (x) -> y
// x -> x. Natural logarithm; undefined at 0 and below.
#define QNN_OP_ELEMENT_WISE_LOG "ElementWiseLog"

// (a, b) -> y
// a, b -> broadcast. max(a, b).
#define QNN_OP_ELEMENT_WISE_MAXIMUM "ElementWiseMaximum"

// (a, b) -> y
// a, b -> broadcast. min(a, b).
#define QNN_OP_ELEMENT_WISE_MINIMUM "ElementWiseMinimum"

// (a, b) -> y
// a, b -> broadcast. Remainder of a / b with the sign of b; integers.
#define QNN_OP_ELEMENT_WISE_MOD "ElementWiseMod"

// (a, b) -> y
// a, b -> broadcast. a * b.
#define QNN_OP_ELEMENT_WISE_MULTIPLY "ElementWiseMultiply"

// (cond, option...) -> y
// index, options... -> broadcast. The element of option 'index', for each element; 0 for an index
// out of range.
#define QNN_OP_ELEMENT_WISE_MUX "ElementWiseMux"

// (x) -> y
// x -> x. -x.
#define QNN_OP_ELEMENT_WISE_NEG "ElementWiseNeg"

// (x) -> y
// x -> x. The activation that 'operation' names; formulas as in the single ops. HARD_SIGMOID is
// max(0, min(1, alpha*x + beta)).
#define QNN_OP_ELEMENT_WISE_NEURON "ElementWiseNeuron"
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_OPERATION "operation"
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_ELU 0
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_GELU 1
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_HARD_SIGMOID 2
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_HARD_SWISH 3
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_RELU 4
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_RELU_MIN_MAX 5
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_SIGMOID 6
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_SOFTPLUS 7
#define QNN_OP_ELEMENT_WISE_NEURON_OPERATION_TANH 8
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_ALPHA "alpha"
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_BETA "beta"
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_MIN_VALUE "min_value"
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_MAX_VALUE "max_value"
#define QNN_OP_ELEMENT_WISE_NEURON_PARAM_THRESHOLD "threshold"

// (x) -> y
// x -> x. 1 where x is 0, else 0.
#define QNN_OP_ELEMENT_WISE_NOT "ElementWiseNot"

// (a, b) -> y
// a, b -> broadcast. a != b.
#define QNN_OP_ELEMENT_WISE_NOT_EQUAL "ElementWiseNotEqual"

// (a, b) -> y
// a, b -> broadcast. 1 where one of both is not 0, else 0.
#define QNN_OP_ELEMENT_WISE_OR "ElementWiseOr"

// (a, b) -> y
// a, b -> broadcast. a ^ b; b may have another type.
#define QNN_OP_ELEMENT_WISE_POWER "ElementWisePower"

// (x) -> y
// x -> x. Nearest integer, ties to even.
#define QNN_OP_ELEMENT_WISE_ROUND "ElementWiseRound"

// (x) -> y
// x -> x. 1 / sqrt(x); undefined at 0 and below.
#define QNN_OP_ELEMENT_WISE_RSQRT "ElementWiseRsqrt"

// (cond, a, b) -> y
// condition, a, b -> broadcast. a where the condition is not 0, else b.
#define QNN_OP_ELEMENT_WISE_SELECT "ElementWiseSelect"

// (x) -> y
// x -> x. 1, 0 or -1.
#define QNN_OP_ELEMENT_WISE_SIGN "ElementWiseSign"

// (x) -> y
// x -> x. sin(x), radians.
#define QNN_OP_ELEMENT_WISE_SIN "ElementWiseSin"

// (x) -> y
// x -> x. ln(e^(beta*x) + 1) / beta; x itself where beta*x exceeds a 'threshold' that is not
// negative.
#define QNN_OP_ELEMENT_WISE_SOFTPLUS "ElementWiseSoftplus"
#define QNN_OP_ELEMENT_WISE_SOFTPLUS_PARAM_BETA "beta"
#define QNN_OP_ELEMENT_WISE_SOFTPLUS_PARAM_THRESHOLD "threshold"

// (a, b) -> y
// a, b -> broadcast. (a - b)^2.
#define QNN_OP_ELEMENT_WISE_SQUARED_DIFFERENCE "ElementWiseSquaredDifference"

// (x) -> y
// x -> x. sqrt(x); undefined below 0.
#define QNN_OP_ELEMENT_WISE_SQUARE_ROOT "ElementWiseSquareRoot"

// (a, b) -> y
// a, b -> broadcast. a - b.
#define QNN_OP_ELEMENT_WISE_SUBTRACT "ElementWiseSubtract"

// (x) -> y
// x -> x. The unary op that 'operation' names; formulas as in the single ops. RECIPROCAL is 1 / x.
#define QNN_OP_ELEMENT_WISE_UNARY "ElementWiseUnary"
#define QNN_OP_ELEMENT_WISE_UNARY_PARAM_OPERATION "operation"
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_ABS 0
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_ASIN 1
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_ATAN 2
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_CEIL 3
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_COS 4
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_EXP 5
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_FLOOR 6
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_LOG 7
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_NEG 8
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_NOT 9
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_RECIPROCAL 10
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_ROUND 11
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_RSQRT 12
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_SIGN 13
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_SIN 14
#define QNN_OP_ELEMENT_WISE_UNARY_OPERATION_SQRT 15

// (a, b) -> y
// a, b -> broadcast. 1 where exactly one of both is not 0, else 0.
#define QNN_OP_ELEMENT_WISE_XOR "ElementWiseXor"

// (x) -> y
// x -> x. max(0, x) + min(0, alpha * (e^x - 1)).
#define QNN_OP_ELU "Elu"
#define QNN_OP_ELU_PARAM_ALPHA "alpha"

// (x) -> y
// x -> x with more dimensions of size 1. Inserts dimensions at 'axis' or at every entry of 'axes';
// positions count in the output.
#define QNN_OP_EXPAND_DIMS "ExpandDims"
#define QNN_OP_EXPAND_DIMS_PARAM_AXIS "axis"
#define QNN_OP_EXPAND_DIMS_PARAM_AXES "axes"

// (x, offsets) -> glimpses
// image [N,H,W,C], offsets [N,2] (y, x) -> [N,h,w,C]. Cuts a window of 'size' at an offset of each
// image: pixels or, with 'normalized', shares; from the top left corner or, with 'centered', from
// the center. Outside is noise or 0.
#define QNN_OP_EXTRACT_GLIMPSE "ExtractGlimpse"
#define QNN_OP_EXTRACT_GLIMPSE_PARAM_SIZE "size"
#define QNN_OP_EXTRACT_GLIMPSE_PARAM_CENTERED "centered"
#define QNN_OP_EXTRACT_GLIMPSE_PARAM_NORMALIZED "normalized"
#define QNN_OP_EXTRACT_GLIMPSE_PARAM_NOISE "noise"
#define QNN_OP_EXTRACT_GLIMPSE_NOISE_UNIFORM 0
#define QNN_OP_EXTRACT_GLIMPSE_NOISE_GAUSSIAN 1
#define QNN_OP_EXTRACT_GLIMPSE_NOISE_ZEROES 2

// (x) -> patches
// [N,H,W,C] -> [N,Ho,Wo,kh*kw*C]. Puts the cells under each window into channels, in the order row,
// column, channel. VALID uses whole windows only, SAME pads with 0.
#define QNN_OP_EXTRACT_PATCHES "ExtractPatches"
#define QNN_OP_EXTRACT_PATCHES_PARAM_SIZE "size"
#define QNN_OP_EXTRACT_PATCHES_PARAM_STRIDE "stride"
#define QNN_OP_EXTRACT_PATCHES_PARAM_RATE "rate"
#define QNN_OP_EXTRACT_PATCHES_PARAM_PADDING "padding"
#define QNN_OP_EXTRACT_PATCHES_PADDING_VALID 0
#define QNN_OP_EXTRACT_PATCHES_PADDING_SAME 1

// (x, weight, [bias]) -> y
// x [..., n], weights [m,n], bias [m] -> [batch,m], or [...,m] with 'keep_dims'. x * weights^T +
// bias after x is flattened to [batch, n].
#define QNN_OP_FULLY_CONNECTED "FullyConnected"
#define QNN_OP_FULLY_CONNECTED_PARAM_KEEP_DIMS "keep_dims"

// (table, indices) -> y
// table, indices -> table[:axis] + shape(indices) + table[axis+1:]. Entries of the table along
// 'axis'. A negative index counts from the end; the HTP accepts none.
#define QNN_OP_GATHER "Gather"
#define QNN_OP_GATHER_PARAM_AXIS "axis"

// (x, indices) -> y
// x, indices (same rank) -> shape of indices. y[i..] = x[i..] with the coordinate at 'axis'
// replaced by the index.
#define QNN_OP_GATHER_ELEMENTS "GatherElements"
#define QNN_OP_GATHER_ELEMENTS_PARAM_AXIS "axis"

// (table, indices) -> y
// table, indices [..., q] -> indices[:-1] + table[batch_dims+q:]. The last dimension of the indices
// holds coordinates of the table behind its 'batch_dims' first dimensions.
#define QNN_OP_GATHER_ND "GatherNd"
#define QNN_OP_GATHER_ND_PARAM_BATCH_DIMS "batch_dims"

// (x) -> y
// x -> x. x/2 * (1 + erf(x / sqrt(2))).
#define QNN_OP_GELU "Gelu"

// (scores, deltas, anchors, image_size) -> scores, boxes, batch_index
// scores [N,H,W,A], deltas [N,H,W,4*A], anchors [A,4], image sizes [N,2] -> scores [K], boxes
// [K,4], batch index [K]. Decodes anchors shifted over the grid, clips, removes small ones and
// suppresses overlaps. The first output dimension is a limit.
#define QNN_OP_GENERATE_PROPOSALS "GenerateProposals"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_IMG_SIZE_RATIO "img_size_ratio"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_MIN_SIZE "min_size"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_PRE_NMS_LIMIT "pre_nms_limit"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_POST_NMS_LIMIT "post_nms_limit"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_GENERATE_PROPOSALS_PARAM_BBOX_XFORM_CLIP "bbox_xform_clip"

// (sparse) -> indices
// sparse tensor -> [M,K]. The coordinates of its elements.
#define QNN_OP_GET_SPARSE_INDICES "GetSparseIndices"

// (sparse) -> values
// sparse tensor -> [M,...]. The values of its elements.
#define QNN_OP_GET_SPARSE_VALUES "GetSparseValues"

// (x, grid) -> y
// x [N,H,W,C], grid [N,Ho,Wo,2] (x, y) -> [N,Ho,Wo,C]; with depth [N,D,H,W,C], [N,Do,Ho,Wo,3].
// Samples x at positions in [-1, 1]. 'align_corners': -1 and 1 are centers of border pixels, else
// their outer edges.
#define QNN_OP_GRID_SAMPLE "GridSample"
#define QNN_OP_GRID_SAMPLE_PARAM_ALIGN_CORNERS "align_corners"
#define QNN_OP_GRID_SAMPLE_PARAM_MODE "mode"
#define QNN_OP_GRID_SAMPLE_MODE_BILINEAR 0
#define QNN_OP_GRID_SAMPLE_MODE_NEAREST 1
#define QNN_OP_GRID_SAMPLE_PARAM_PADDING_MODE "padding_mode"
#define QNN_OP_GRID_SAMPLE_PADDING_MODE_ZEROS 0
#define QNN_OP_GRID_SAMPLE_PADDING_MODE_BORDER 1
#define QNN_OP_GRID_SAMPLE_PADDING_MODE_REFLECTION 2

// (x, [gamma], [beta]) -> y
// x [N,...,C], gamma [C], beta [C] -> x. Normalizes over all positions and the channels of each of
// 'group' consecutive blocks; variances divide by the count.
#define QNN_OP_GROUP_NORM "GroupNorm"
#define QNN_OP_GROUP_NORM_PARAM_EPSILON "epsilon"
#define QNN_OP_GROUP_NORM_PARAM_GROUP "group"

// (x, W_xz, W_xr, W_xn, W_hz, W_hr, W_hn, [b_xz], [b_xr], [b_xn], [b_hz], [b_hr], [b_hn],
// [initial_h], [reset]) -> Y, Y_h
// x [T,N,I], or [N,T,I] without 'time_major', weights [U,I] and recurrent weights [U,U] (update,
// reset, new), biases [U] -> outputs, last state [1,N,U]. r, z = sigmoid(W x + R h + b); n =
// tanh(Wn x + Rn (r*h) + b) or, with 'linear_before_reset', tanh(Wn x + bx + r*(Rn h + bh)); h' =
// (1-z)*n + z*h.
#define QNN_OP_GRU "Gru"
#define QNN_OP_GRU_PARAM_DIRECTION "direction"
#define QNN_OP_GRU_DIRECTION_FORWARD 0
#define QNN_OP_GRU_DIRECTION_REVERSE 1
#define QNN_OP_GRU_PARAM_LINEAR_BEFORE_RESET "linear_before_reset"
#define QNN_OP_GRU_PARAM_TIME_MAJOR "time_major"

// (x) -> y
// x [..., n], n a power of 2 -> x. scale * (H x) / sqrt(n) along the last dimension, H[i,j] =
// (-1)^popcount(i & j).
#define QNN_OP_HADAMARD_TRANSFORM "HadamardTransform"
#define QNN_OP_HADAMARD_TRANSFORM_PARAM_SCALE "scale"

// (x) -> y
// x -> x. x * max(0, min(6, x + 3)) / 6.
#define QNN_OP_HARD_SWISH "HardSwish"

// (heatmap, boxes) -> scores, locations
// heat maps [B,h,w,K], boxes [B,4] (x1,y1,x2,y2) -> scores [B,K], points [B,K,2] (x, y). The
// largest cell of each map, refined by a second-order fit of its neighbors, in coordinates of the
// box.
#define QNN_OP_HEAT_MAP_MAX_KEY_POINT "HeatMapMaxKeyPoint"

// (cond) -> nothing
// condition -> (outputs of the graph). Runs the graph 'then_graph' where the condition is true,
// else 'else_graph'.
#define QNN_OP_IF "If"
#define QNN_OP_IF_PARAM_THEN_GRAPH "then_graph"
#define QNN_OP_IF_PARAM_ELSE_GRAPH "else_graph"

// (x) -> columns
// [N,H,W,C] -> [N, C*kh*kw, L]. Row c*kh*kw + a*kw + b, column of the output position in row-major
// order. 'pad_amount' is [[top, bottom], [left, right]]; outside is 0.
#define QNN_OP_IM2_COL "Im2Col"
#define QNN_OP_IM2_COL_PARAM_KERNEL_SIZE "kernel_size"
#define QNN_OP_IM2_COL_PARAM_STRIDE "stride"
#define QNN_OP_IM2_COL_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_IM2_COL_PARAM_DILATION "dilation"

// (x, transform) -> y
// image [N,H,W,C], transform (a0,a1,a2,b0,b1,b2,c0,c1) -> [N,H,W,C]. Output (x, y) reads input ((a0
// x + a1 y + a2)/k, (b0 x + b1 y + b2)/k) with k = c0 x + c1 y + 1.
#define QNN_OP_IMAGE_PROJECTION_TRANSFORM "ImageProjectionTransform"
#define QNN_OP_IMAGE_PROJECTION_TRANSFORM_PARAM_INTERPOLATION_MODE "interpolation_mode"
#define QNN_OP_IMAGE_PROJECTION_TRANSFORM_INTERPOLATION_MODE_BILINEAR 0
#define QNN_OP_IMAGE_PROJECTION_TRANSFORM_INTERPOLATION_MODE_NEAREST_NEIGHBOR 1

// (x, gamma, [beta]) -> y
// x [N,...,C], gamma [C], beta [C] -> x. Normalizes each channel of each image over its positions;
// variances divide by the count. Mode RMS divides by the root of a sum of squares, not of a mean.
#define QNN_OP_INSTANCE_NORM "InstanceNorm"
#define QNN_OP_INSTANCE_NORM_PARAM_EPSILON "epsilon"
#define QNN_OP_INSTANCE_NORM_PARAM_MODE "mode"
#define QNN_OP_INSTANCE_NORM_MODE_MU_SIGMA 0
#define QNN_OP_INSTANCE_NORM_MODE_RMS 1
#define QNN_OP_INSTANCE_NORM_PARAM_NORMALIZE_VARIANCE "normalize_variance"
#define QNN_OP_INSTANCE_NORM_PARAM_REGION "region"
#define QNN_OP_INSTANCE_NORM_REGION_ACROSS_SPATIAL 0
#define QNN_OP_INSTANCE_NORM_REGION_ACROSS_CHANNEL 1
#define QNN_OP_INSTANCE_NORM_REGION_ACROSS_ALL 2

// (x) -> y
// x -> boolean. Whether an element is infinite, with the signs that 'detect_positive' and
// 'detect_negative' choose.
#define QNN_OP_IS_INF "IsInf"
#define QNN_OP_IS_INF_PARAM_DETECT_NEGATIVE "detect_negative"
#define QNN_OP_IS_INF_PARAM_DETECT_POSITIVE "detect_positive"

// (x) -> y
// x -> boolean. Whether an element is NaN.
#define QNN_OP_IS_NAN "IsNan"

// (x) -> y
// x -> x. x / max(sqrt(sum of x^2), epsilon) along 'axis', or over 'axes' together.
#define QNN_OP_L2_NORM "L2Norm"
#define QNN_OP_L2_NORM_PARAM_AXIS "axis"
#define QNN_OP_L2_NORM_PARAM_AXES "axes"
#define QNN_OP_L2_NORM_PARAM_EPSILON "epsilon"

// (x) -> y
// [N,H,W,C] -> [N,Ho,Wo,C]. sqrt(sum of x^2) over each window; no division. Parameters as in
// PoolAvg2d.
#define QNN_OP_L2_POOL_2D "L2Pool2d"
#define QNN_OP_L2_POOL_2D_PARAM_FILTER_SIZE "filter_size"
#define QNN_OP_L2_POOL_2D_PARAM_STRIDE "stride"
#define QNN_OP_L2_POOL_2D_PARAM_PAD_AMOUNT "pad_amount"

// (x, [gamma], [beta]) -> y
// x, gamma and beta with the dimensions of x at 'axes' -> x. (x - mean) / sqrt(variance + epsilon)
// * gamma + beta over 'axes'; the variance divides by the count.
#define QNN_OP_LAYER_NORM "LayerNorm"
#define QNN_OP_LAYER_NORM_PARAM_EPSILON "epsilon"
#define QNN_OP_LAYER_NORM_PARAM_AXES "axes"

// (x, [epsilon]) -> y
// x, [eps] -> x. ln(p / (1-p)); with eps p is x limited to [eps, 1-eps].
#define QNN_OP_LOGIT "Logit"

// (x) -> y
// x -> x. beta*x - log(sum of e^(beta*x)) along 'axis' (default: the last).
#define QNN_OP_LOG_SOFTMAX "LogSoftmax"
#define QNN_OP_LOG_SOFTMAX_PARAM_AXIS "axis"
#define QNN_OP_LOG_SOFTMAX_PARAM_BETA "beta"

// (x) -> y
// [N,H,W,C] -> [N,H,W,C]. x / (bias + alpha*S)^beta, S the sum of x^2 over channels
// c-radius..c+radius, or over the neighborhood within a channel. alpha is not divided by the
// window's size, as ONNX's is.
#define QNN_OP_LRN "Lrn"
#define QNN_OP_LRN_PARAM_ALPHA "alpha"
#define QNN_OP_LRN_PARAM_BETA "beta"
#define QNN_OP_LRN_PARAM_BIAS "bias"
#define QNN_OP_LRN_PARAM_RADIUS "radius"
#define QNN_OP_LRN_PARAM_REGION "region"
#define QNN_OP_LRN_REGION_ACROSS_CHANNEL 0
#define QNN_OP_LRN_REGION_WITHIN_CHANNEL 1

// (x, W_xf, W_xc, W_xo, W_hf, W_hc, W_ho, b_f, b_c, b_o, [h_init], [c_init], [ln_w_input],
// [ln_w_forget], [ln_w_cell], [ln_w_output], [W_xi], [W_hi], [W_ci], [W_cf], [W_co], [b_i],
// [W_proj], [b_proj], [reset]) -> h_seq, c_last, h_last, [input_gate], [forget_gate], [cell_gate],
// [output_gate], [hidden_state]
// x [N,T,I], [T,N,I] ('time_major') or one step [N,I], weights [U,I], recurrent weights [U,out],
// biases [U] -> outputs, cell state, last output. i, f, o = sigmoid(W x + R h [+ P*c] + b); c' =
// f*c + i*tanh(Wc x + Rc h + bc); h' = o*tanh(c'), clipped and projected as asked for. Weights come
// gate by gate: forget, cell, output, then input.
#define QNN_OP_LSTM "Lstm"
#define QNN_OP_LSTM_PARAM_DIRECTION "direction"
#define QNN_OP_LSTM_DIRECTION_FORWARD 0
#define QNN_OP_LSTM_DIRECTION_REVERSE 1
#define QNN_OP_LSTM_PARAM_CELL_CLIP_THRESHOLD "cell_clip_threshold"
#define QNN_OP_LSTM_PARAM_OUTPUT_CLIP_THRESHOLD "output_clip_threshold"
#define QNN_OP_LSTM_PARAM_TIME_MAJOR "time_major"
#define QNN_OP_LSTM_PARAM_INPUT_GATE_QSCALE "input_gate_qscale"
#define QNN_OP_LSTM_PARAM_FORGET_GATE_QSCALE "forget_gate_qscale"
#define QNN_OP_LSTM_PARAM_CELL_GATE_QSCALE "cell_gate_qscale"
#define QNN_OP_LSTM_PARAM_OUTPUT_GATE_QSCALE "output_gate_qscale"
#define QNN_OP_LSTM_PARAM_HIDDEN_STATE_OFFSET "hidden_state_offset"
#define QNN_OP_LSTM_PARAM_HIDDEN_STATE_QSCALE "hidden_state_qscale"

// (x, mask) -> y
// x [N,H,W,C], mask [N,C] or lengths [N,S] -> x. Softmax over the last dimension. UNCOMPRESSED adds
// the mask; COMPRESSED lets a row see the columns of its own sequence only.
#define QNN_OP_MASKED_SOFTMAX "MaskedSoftmax"
#define QNN_OP_MASKED_SOFTMAX_PARAM_MODE "mode"
#define QNN_OP_MASKED_SOFTMAX_MODE_UNCOMPRESSED 0
#define QNN_OP_MASKED_SOFTMAX_MODE_COMPRESSED 1

// (a, b, [bias]) -> c
// a [...,m,k], b [...,k,n], bias [n] -> [...,m,n]. a * b + bias; 'transpose_in0' and
// 'transpose_in1' swap the last two dimensions first. Leading dimensions broadcast.
#define QNN_OP_MAT_MUL "MatMul"
#define QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN0 "transpose_in0"
#define QNN_OP_MAT_MUL_PARAM_TRANSPOSE_IN1 "transpose_in1"

// (x) -> mean, variance
// x -> mean, variance. Over 'axes'; the variance divides by the count.
#define QNN_OP_MOMENTS "Moments"
#define QNN_OP_MOMENTS_PARAM_AXES "axes"
#define QNN_OP_MOMENTS_PARAM_KEEP_DIMS "keep_dims"

// (boxes, scores, [features_2..m]...) -> boxes, scores, classes, valid_count, [features]...
// boxes [N,B,4] (y1,x1,y2,x2), scores [N,B,classes], [features...] -> boxes [N,K,4], scores [N,K],
// classes [N,K], counts [N], [features...]. Non-maximum suppression over all classes by descending
// score, hard or with scores that decay ('soft_nms_sigma').
#define QNN_OP_MULTI_CLASS_NMS "MultiClassNms"
#define QNN_OP_MULTI_CLASS_NMS_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_MULTI_CLASS_NMS_PARAM_SCORE_THRESHOLD "score_threshold"
#define QNN_OP_MULTI_CLASS_NMS_PARAM_SOFT_NMS_SIGMA "soft_nms_sigma"

// (boxes, scores) -> selected, [valid_count]
// boxes [N,B,4], scores [N,classes,B] -> [N*classes*max_boxes_selected, 3] (batch, class, box),
// [count]. Greedy suppression for each image and class; at most 'max_boxes_selected' boxes of each.
// Corners of a box may come in either order.
#define QNN_OP_NON_MAX_SUPPRESSION "NonMaxSuppression"
#define QNN_OP_NON_MAX_SUPPRESSION_PARAM_IOU_THRESHOLD "iou_threshold"
#define QNN_OP_NON_MAX_SUPPRESSION_PARAM_SCORE_THRESHOLD "score_threshold"
#define QNN_OP_NON_MAX_SUPPRESSION_PARAM_MAX_BOXES_SELECTED "max_boxes_selected"

// (x) -> indices
// x -> [M, rank]. Coordinates of the elements that are not 0, in row-major order. M is a limit;
// unused rows are -1.
#define QNN_OP_NON_ZERO "NonZero"

// (yuv) -> rgb
// [N, W*H*3/2] -> [N,H,W,3]. H*W bytes of luma, then U,V pairs of half the resolution.
// 'output_order' is RGB or BGR.
#define QNN_OP_NV12_TO_RGB "Nv12ToRgb"
#define QNN_OP_NV12_TO_RGB_PARAM_OUTPUT_ORDER "output_order"
#define QNN_OP_NV12_TO_RGB_OUTPUT_ORDER_RGB 0
#define QNN_OP_NV12_TO_RGB_OUTPUT_ORDER_BGR 1

// (yuv) -> rgb
// [N, W*H*3/2] -> [N,H,W,3]. As Nv12ToRgb with V,U pairs.
#define QNN_OP_NV21_TO_RGB "Nv21ToRgb"
#define QNN_OP_NV21_TO_RGB_PARAM_OUTPUT_ORDER "output_order"
#define QNN_OP_NV21_TO_RGB_OUTPUT_ORDER_RGB 0
#define QNN_OP_NV21_TO_RGB_OUTPUT_ORDER_BGR 1

// (indices) -> y
// indices -> indices with 'depth' more at 'axis'. 'on_value' where the index is the position along
// 'axis', else 'off_value'.
#define QNN_OP_ONE_HOT "OneHot"
#define QNN_OP_ONE_HOT_PARAM_DEPTH "depth"
#define QNN_OP_ONE_HOT_PARAM_AXIS "axis"
#define QNN_OP_ONE_HOT_PARAM_ON_VALUE "on_value"
#define QNN_OP_ONE_HOT_PARAM_OFF_VALUE "off_value"

// (x0..xm...) -> y
// equal inputs -> one more dimension at 'axis'. Stacks the inputs along a new dimension.
#define QNN_OP_PACK "Pack"
#define QNN_OP_PACK_PARAM_AXIS "axis"

// (x) -> y
// x -> before + x + after. 'pad_amount' is [[before, after], ...] for each dimension. CONSTANT
// fills with 'pad_constant_value', MIRROR_SYMMETRIC repeats the border element, MIRROR_REFLECT does
// not, EDGE replicates it.
#define QNN_OP_PAD "Pad"
#define QNN_OP_PAD_PARAM_SCHEME "scheme"
#define QNN_OP_PAD_SCHEME_CONSTANT 0
#define QNN_OP_PAD_SCHEME_MIRROR_SYMMETRIC 1
#define QNN_OP_PAD_SCHEME_MIRROR_REFLECT 2
#define QNN_OP_PAD_SCHEME_EDGE 3
#define QNN_OP_PAD_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_PAD_PARAM_PAD_CONSTANT_VALUE "pad_constant_value"

// (x) -> y
// [N,H,W,C] -> [N,Ho,Wo,C]. Mean over windows of 'filter_size' [height, width]. 'pad_amount' is
// [[top, bottom], [left, right]]; padding counts in the divisor only with 'count_pad_for_edges'.
// 'rounding_mode' rounds the output size down or up.
#define QNN_OP_POOL_AVG_2D "PoolAvg2d"
#define QNN_OP_POOL_AVG_2D_PARAM_FILTER_SIZE "filter_size"
#define QNN_OP_POOL_AVG_2D_PARAM_STRIDE "stride"
#define QNN_OP_POOL_AVG_2D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_POOL_AVG_2D_PARAM_COUNT_PAD_FOR_EDGES "count_pad_for_edges"
#define QNN_OP_POOL_AVG_2D_PARAM_ROUNDING_MODE "rounding_mode"
#define QNN_OP_POOL_AVG_2D_ROUNDING_MODE_FLOOR 0
#define QNN_OP_POOL_AVG_2D_ROUNDING_MODE_CEIL 1

// (x) -> y
// [N,D,H,W,C] -> [N,Do,Ho,Wo,C]. As PoolAvg2d; parameters are depth, height, width.
#define QNN_OP_POOL_AVG_3D "PoolAvg3d"
#define QNN_OP_POOL_AVG_3D_PARAM_FILTER_SIZE "filter_size"
#define QNN_OP_POOL_AVG_3D_PARAM_STRIDE "stride"
#define QNN_OP_POOL_AVG_3D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_POOL_AVG_3D_PARAM_COUNT_PAD_FOR_EDGES "count_pad_for_edges"
#define QNN_OP_POOL_AVG_3D_PARAM_ROUNDING_MODE "rounding_mode"
#define QNN_OP_POOL_AVG_3D_ROUNDING_MODE_FLOOR 0
#define QNN_OP_POOL_AVG_3D_ROUNDING_MODE_CEIL 1

// (x) -> y
// [N,H,W,C] -> [N,Ho,Wo,C]. Largest element under windows of 'filter_size' [height, width]; padding
// never wins. 'pad_amount' is [[top, bottom], [left, right]].
#define QNN_OP_POOL_MAX_2D "PoolMax2d"
#define QNN_OP_POOL_MAX_2D_PARAM_FILTER_SIZE "filter_size"
#define QNN_OP_POOL_MAX_2D_PARAM_STRIDE "stride"
#define QNN_OP_POOL_MAX_2D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_POOL_MAX_2D_PARAM_ROUNDING_MODE "rounding_mode"
#define QNN_OP_POOL_MAX_2D_ROUNDING_MODE_FLOOR 0
#define QNN_OP_POOL_MAX_2D_ROUNDING_MODE_CEIL 1

// (x) -> y
// [N,D,H,W,C] -> [N,Do,Ho,Wo,C]. As PoolMax2d; parameters are depth, height, width.
#define QNN_OP_POOL_MAX_3D "PoolMax3d"
#define QNN_OP_POOL_MAX_3D_PARAM_FILTER_SIZE "filter_size"
#define QNN_OP_POOL_MAX_3D_PARAM_STRIDE "stride"
#define QNN_OP_POOL_MAX_3D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_POOL_MAX_3D_PARAM_ROUNDING_MODE "rounding_mode"
#define QNN_OP_POOL_MAX_3D_ROUNDING_MODE_FLOOR 0
#define QNN_OP_POOL_MAX_3D_ROUNDING_MODE_CEIL 1

// (x, alpha) -> y
// x, alpha -> x. x where x >= 0, else alpha * x; alpha broadcasts to x.
#define QNN_OP_PRELU "Prelu"

// (x) -> q
// x -> x. round(x / scale) + zero point, limited to the type, with the encoding of the output.
#define QNN_OP_QUANTIZE "Quantize"

// (shape, [seed]) -> y
// shape, [seed] -> tensor of that shape. Samples of a normal distribution with 'mean' and standard
// deviation 'scale'.
#define QNN_OP_RANDOM_NORMAL_LIKE "RandomNormalLike"
#define QNN_OP_RANDOM_NORMAL_LIKE_PARAM_MEAN "mean"
#define QNN_OP_RANDOM_NORMAL_LIKE_PARAM_SCALE "scale"

// (shape, [seed]) -> y
// shape, [seed] -> tensor of that shape. Samples that are uniform in [low, high).
#define QNN_OP_RANDOM_UNIFORM_LIKE "RandomUniformLike"
#define QNN_OP_RANDOM_UNIFORM_LIKE_PARAM_LOW "low"
#define QNN_OP_RANDOM_UNIFORM_LIKE_PARAM_HIGH "high"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Largest element over 'axes'. Reducing
// every dimension gives shape [1].
#define QNN_OP_REDUCE_MAX "ReduceMax"
#define QNN_OP_REDUCE_MAX_PARAM_AXES "axes"
#define QNN_OP_REDUCE_MAX_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Mean over 'axes'.
#define QNN_OP_REDUCE_MEAN "ReduceMean"
#define QNN_OP_REDUCE_MEAN_PARAM_AXES "axes"
#define QNN_OP_REDUCE_MEAN_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Smallest element over 'axes'.
#define QNN_OP_REDUCE_MIN "ReduceMin"
#define QNN_OP_REDUCE_MIN_PARAM_AXES "axes"
#define QNN_OP_REDUCE_MIN_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Product over 'axes'.
#define QNN_OP_REDUCE_PROD "ReduceProd"
#define QNN_OP_REDUCE_PROD_PARAM_AXES "axes"
#define QNN_OP_REDUCE_PROD_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Sum over 'axes'.
#define QNN_OP_REDUCE_SUM "ReduceSum"
#define QNN_OP_REDUCE_SUM_PARAM_AXES "axes"
#define QNN_OP_REDUCE_SUM_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x without 'axes', or with size 1 there ('keep_dims'). Sum of squares over 'axes'.
#define QNN_OP_REDUCE_SUM_SQUARE "ReduceSumSquare"
#define QNN_OP_REDUCE_SUM_SQUARE_PARAM_AXES "axes"
#define QNN_OP_REDUCE_SUM_SQUARE_PARAM_KEEP_DIMS "keep_dims"

// (x) -> y
// x -> x. max(0, x).
#define QNN_OP_RELU "Relu"

// (x) -> y
// x -> x. x limited to [-1, 1]. Deprecated: use ReluMinMax.
#define QNN_OP_RELU1 "Relu1"

// (x) -> y
// x -> x. x limited to [0, 6]. Deprecated: use ReluMinMax.
#define QNN_OP_RELU6 "Relu6"

// (x) -> y
// x -> x. x limited to ['min_value', 'max_value'].
#define QNN_OP_RELU_MIN_MAX "ReluMinMax"
#define QNN_OP_RELU_MIN_MAX_PARAM_MIN_VALUE "min_value"
#define QNN_OP_RELU_MIN_MAX_PARAM_MAX_VALUE "max_value"

// (x, [shape]) -> y
// x -> as many elements. The same elements in the same order in another shape, which the output
// tensor has.
#define QNN_OP_RESHAPE "Reshape"

// (x) -> y
// [N,...,C] -> [N,...',C]. Sizes are those of the output tensor. 'transformation_mode' maps output
// positions to the input, 'interpolation_mode' is nearest, linear or cubic.
#define QNN_OP_RESIZE "Resize"
#define QNN_OP_RESIZE_PARAM_EXCLUDE_OUTSIDE "exclude_outside"
#define QNN_OP_RESIZE_PARAM_TRANSFORMATION_MODE "transformation_mode"
#define QNN_OP_RESIZE_TRANSFORMATION_MODE_HALF_PIXEL 0
#define QNN_OP_RESIZE_TRANSFORMATION_MODE_PYTORCH_HALF_PIXEL 1
#define QNN_OP_RESIZE_TRANSFORMATION_MODE_ALIGN_CORNERS 2
#define QNN_OP_RESIZE_TRANSFORMATION_MODE_ASYMMETRIC 3
#define QNN_OP_RESIZE_PARAM_INTERPOLATION_MODE "interpolation_mode"
#define QNN_OP_RESIZE_INTERPOLATION_MODE_NEAREST 0
#define QNN_OP_RESIZE_INTERPOLATION_MODE_LINEAR 1
#define QNN_OP_RESIZE_INTERPOLATION_MODE_CUBIC 2
#define QNN_OP_RESIZE_PARAM_NEAREST_MODE "nearest_mode"
#define QNN_OP_RESIZE_NEAREST_MODE_ROUND_PREFER_FLOOR 0
#define QNN_OP_RESIZE_NEAREST_MODE_ROUND_PREFER_CEIL 1
#define QNN_OP_RESIZE_NEAREST_MODE_FLOOR 2
#define QNN_OP_RESIZE_NEAREST_MODE_CEIL 3
#define QNN_OP_RESIZE_PARAM_CUBIC_COEFF "cubic_coeff"

// (x) -> y
// [N,H,W,C] -> [N,Ho,Wo,C]. Linear interpolation at o*in/out; 'align_corners': o*(in-1)/(out-1);
// 'half_pixel_centers': (o+0.5)*in/out-0.5.
#define QNN_OP_RESIZE_BILINEAR "ResizeBilinear"
#define QNN_OP_RESIZE_BILINEAR_PARAM_ALIGN_CORNERS "align_corners"
#define QNN_OP_RESIZE_BILINEAR_PARAM_HALF_PIXEL_CENTERS "half_pixel_centers"
#define QNN_OP_RESIZE_BILINEAR_PARAM_ANTIALIAS "antialias"

// (x) -> y
// [N,H,W,C] -> [N,Ho,Wo,C]. The input element at floor(o*in/out); 'align_corners':
// round(o*(in-1)/(out-1)); 'half_pixel_centers': floor((o+0.5)*in/out).
#define QNN_OP_RESIZE_NEAREST_NEIGHBOR "ResizeNearestNeighbor"
#define QNN_OP_RESIZE_NEAREST_NEIGHBOR_PARAM_ALIGN_CORNERS "align_corners"
#define QNN_OP_RESIZE_NEAREST_NEIGHBOR_PARAM_HALF_PIXEL_CENTERS "half_pixel_centers"

// (x, [gamma], [beta]) -> y
// x, gamma and beta with the dimensions of x at 'axes' -> x. x / sqrt(mean of x^2 + epsilon) *
// gamma + beta over 'axes'.
#define QNN_OP_RMS_NORM "RmsNorm"
#define QNN_OP_RMS_NORM_PARAM_EPSILON "epsilon"
#define QNN_OP_RMS_NORM_PARAM_AXES "axes"

// (x, rois, batch_index) -> y
// x [N,H,W,C], rois [R,4] (x1,y1,x2,y2), batch index [R] -> [R,Ho,Wo,C]. Mean of bilinear samples
// in each bin of a roi, whose coordinates are divided by 'img_size_ratio'; 'aligned' shifts by half
// a pixel.
#define QNN_OP_ROI_ALIGN "RoiAlign"
#define QNN_OP_ROI_ALIGN_PARAM_IMG_SIZE_RATIO "img_size_ratio"
#define QNN_OP_ROI_ALIGN_PARAM_NUM_SAMPLES_Y "num_samples_y"
#define QNN_OP_ROI_ALIGN_PARAM_NUM_SAMPLES_X "num_samples_x"
#define QNN_OP_ROI_ALIGN_PARAM_ALIGNED "aligned"
#define QNN_OP_ROI_ALIGN_PARAM_ALLOW_INVALID_ROI "allow_invalid_roi"

// (x, rois, batch_index) -> y
// x [N,H,W,C], rois [R,4], batch index [R] -> [R,Ho,Wo,C]. Largest element in each bin of a roi.
#define QNN_OP_ROI_POOLING "RoiPooling"
#define QNN_OP_ROI_POOLING_PARAM_IMG_SIZE_RATIO "img_size_ratio"

// (x, cos_cache, sin_cache, [position_ids]) -> y
// x, cos, sin, [position ids] -> x. Rotates the first channels of each head: pairs (i, i + rd/2),
// or neighbors with 'interleaved'; y1 = x1*cos - x2*sin, y2 = x2*cos + x1*sin. The rest is copied.
#define QNN_OP_ROTARY_EMBEDDING "RotaryEmbedding"
#define QNN_OP_ROTARY_EMBEDDING_PARAM_INTERLEAVED "interleaved"
#define QNN_OP_ROTARY_EMBEDDING_PARAM_ROTARY_EMBEDDING_DIM "rotary_embedding_dim"

// (x, indices, updates) -> y
// x, indices, updates (shape of indices) -> x. A copy of x with updates at the coordinates of the
// indices, the one at 'axis' replaced; 'reduction' says how they combine.
#define QNN_OP_SCATTER_ELEMENTS "ScatterElements"
#define QNN_OP_SCATTER_ELEMENTS_PARAM_AXIS "axis"
#define QNN_OP_SCATTER_ELEMENTS_PARAM_REDUCTION "reduction"
#define QNN_OP_SCATTER_ELEMENTS_REDUCTION_NONE 0
#define QNN_OP_SCATTER_ELEMENTS_REDUCTION_ADD 1
#define QNN_OP_SCATTER_ELEMENTS_REDUCTION_MUL 2
#define QNN_OP_SCATTER_ELEMENTS_REDUCTION_MAX 3

// (x, indices, updates) -> y
// x, indices [..., q], updates -> x. A copy of x with updates at coordinates, or at slices where q
// is less than the rank.
#define QNN_OP_SCATTER_ND "ScatterNd"
#define QNN_OP_SCATTER_ND_PARAM_REDUCTION "reduction"
#define QNN_OP_SCATTER_ND_REDUCTION_NONE 0
#define QNN_OP_SCATTER_ND_REDUCTION_ADD 1
#define QNN_OP_SCATTER_ND_REDUCTION_MUL 2

// (x) -> dims
// x -> [rank]. The dimensions from 'start' to 'end' - 1.
#define QNN_OP_SHAPE "Shape"
#define QNN_OP_SHAPE_PARAM_START "start"
#define QNN_OP_SHAPE_PARAM_END "end"

// (x) -> y
// x -> x. 1 / (1 + e^-x). On the HTP 16-bit outputs have a fixed encoding.
#define QNN_OP_SIGMOID "Sigmoid"

// (x) -> y
// x -> x. e^(beta*(x-max)) divided by the sum of them along 'axis' (default: the last).
#define QNN_OP_SOFTMAX "Softmax"
#define QNN_OP_SOFTMAX_PARAM_AXIS "axis"
#define QNN_OP_SOFTMAX_PARAM_BETA "beta"

// (x) -> y
// [N,H,W,C] -> [N*bh*bw, H', W', C]. Pads with 0 ('pad_amount' [[top, bottom], [left, right]]),
// then moves blocks of height and width into the batch: the inverse of BatchToSpace.
#define QNN_OP_SPACE_TO_BATCH "SpaceToBatch"
#define QNN_OP_SPACE_TO_BATCH_PARAM_BLOCK_SIZE "block_size"
#define QNN_OP_SPACE_TO_BATCH_PARAM_PAD_AMOUNT "pad_amount"

// (x) -> y
// [N,H,W,C] -> [N,H/bh,W/bw,C*bh*bw]. The inverse of DepthToSpace: DCR y[n,h,w,(i*bw+j)*C+c], CRD
// y[n,h,w,c*bh*bw+i*bw+j].
#define QNN_OP_SPACE_TO_DEPTH "SpaceToDepth"
#define QNN_OP_SPACE_TO_DEPTH_PARAM_BLOCK_SIZE "block_size"
#define QNN_OP_SPACE_TO_DEPTH_PARAM_MODE "mode"
#define QNN_OP_SPACE_TO_DEPTH_MODE_DCR 0
#define QNN_OP_SPACE_TO_DEPTH_MODE_CRD 1

// (sparse) -> dense
// sparse tensor -> dense tensor. Elements that are absent are 0.
#define QNN_OP_SPARSE_TO_DENSE "SparseToDense"

// (x) -> y0..ym...
// x -> parts along 'axis'. 'split_index' lists where the second and later parts begin.
#define QNN_OP_SPLIT "Split"
#define QNN_OP_SPLIT_PARAM_AXIS "axis"
#define QNN_OP_SPLIT_PARAM_SPLIT_INDEX "split_index"

// (x) -> y
// x -> x without dimensions of size 1. Drops those that 'axes' lists, or that the output tensor
// does not have.
#define QNN_OP_SQUEEZE "Squeeze"
#define QNN_OP_SQUEEZE_PARAM_AXES "axes"

// (signal, [window]) -> y
// signal [N,L,1] or complex [N,L,2], [window] -> [N,frames,bins,2]. Windowed Fourier transform:
// frames = 1 + floor((L - frame_length) / frame_step); bins = frame_length/2 + 1 with 'onesided';
// the last dimension is real, imaginary.
#define QNN_OP_STFT "Stft"
#define QNN_OP_STFT_PARAM_FRAME_STEP "frame_step"
#define QNN_OP_STFT_PARAM_FRAME_LENGTH "frame_length"
#define QNN_OP_STFT_PARAM_ONESIDED "onesided"

// (x) -> y
// x -> ranges of x. 'ranges' is [[begin, end, stride], ...]. Bits of 'begin_mask' and 'end_mask'
// widen a range, 'shrink_axes' drops its dimension, 'new_axes_mask' inserts one of size 1.
#define QNN_OP_STRIDED_SLICE "StridedSlice"
#define QNN_OP_STRIDED_SLICE_PARAM_RANGES "ranges"
#define QNN_OP_STRIDED_SLICE_PARAM_BEGIN_MASK "begin_mask"
#define QNN_OP_STRIDED_SLICE_PARAM_END_MASK "end_mask"
#define QNN_OP_STRIDED_SLICE_PARAM_SHRINK_AXES "shrink_axes"
#define QNN_OP_STRIDED_SLICE_PARAM_NEW_AXES_MASK "new_axes_mask"

// (x) -> y
// x -> x. tanh(x). On the HTP 16-bit outputs have a fixed encoding.
#define QNN_OP_TANH "Tanh"

// (x) -> y
// x -> x repeated. Repeats x 'multiples'[i] times along dimension i.
#define QNN_OP_TILE "Tile"
#define QNN_OP_TILE_PARAM_MULTIPLES "multiples"

// (x) -> values, indices
// x [..., n] -> values [..., k], indices [..., k]. The k largest (or smallest) along the last
// dimension, sorted; of equal values the larger index first.
#define QNN_OP_TOP_K "TopK"
#define QNN_OP_TOP_K_PARAM_K "k"
#define QNN_OP_TOP_K_PARAM_LARGEST "largest"

// (x) -> y
// x -> x with dimensions in the order 'perm'. Dimension i of the output is dimension perm[i] of the
// input.
#define QNN_OP_TRANSPOSE "Transpose"
#define QNN_OP_TRANSPOSE_PARAM_PERM "perm"

// (x, filter, [bias]) -> y
// x [N,W,Cin], filter [Kw,Cin,Cout/group], bias [Cout] -> [N,Wo,Cout]. Wo = stride*(W-1) + Kw -
// before - after + output_padding; 'pad_amount' is [before, after].
#define QNN_OP_TRANSPOSE_CONV_1D "TransposeConv1d"
#define QNN_OP_TRANSPOSE_CONV_1D_PARAM_STRIDE "stride"
#define QNN_OP_TRANSPOSE_CONV_1D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_TRANSPOSE_CONV_1D_PARAM_GROUP "group"
#define QNN_OP_TRANSPOSE_CONV_1D_PARAM_OUTPUT_PADDING "output_padding"

// (x, filter, [bias]) -> y
// x [N,H,W,Cin], filter [Kh,Kw,Cin,Cout/group], bias [Cout] -> [N,Ho,Wo,Cout]. Ho = stride*(H-1) +
// Kh - top - bottom + output_padding. y[n, i*s + a - top, ..., co] += x[n,i,...,ci] *
// filter[a,...,ci,co]; 'pad_amount' is [[top, bottom], [left, right]].
#define QNN_OP_TRANSPOSE_CONV_2D "TransposeConv2d"
#define QNN_OP_TRANSPOSE_CONV_2D_PARAM_STRIDE "stride"
#define QNN_OP_TRANSPOSE_CONV_2D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_TRANSPOSE_CONV_2D_PARAM_GROUP "group"
#define QNN_OP_TRANSPOSE_CONV_2D_PARAM_OUTPUT_PADDING "output_padding"

// (x, filter, [bias]) -> y
// x [N,D,H,W,Cin], filter [Kd,Kh,Kw,Cin,Cout/group], bias [Cout] -> [N,Do,Ho,Wo,Cout]. As
// TransposeConv2d with 'dilation'; parameters are depth, height, width.
#define QNN_OP_TRANSPOSE_CONV_3D "TransposeConv3d"
#define QNN_OP_TRANSPOSE_CONV_3D_PARAM_STRIDE "stride"
#define QNN_OP_TRANSPOSE_CONV_3D_PARAM_PAD_AMOUNT "pad_amount"
#define QNN_OP_TRANSPOSE_CONV_3D_PARAM_DILATION "dilation"
#define QNN_OP_TRANSPOSE_CONV_3D_PARAM_GROUP "group"
#define QNN_OP_TRANSPOSE_CONV_3D_PARAM_OUTPUT_PADDING "output_padding"

// (x) -> y0..ym...
// x -> one output for each index along 'axis'. Splits x along 'axis' and drops that dimension.
#define QNN_OP_UN_PACK "UnPack"
#define QNN_OP_UN_PACK_PARAM_AXIS "axis"

#endif // QNN_OP_DEF_H
